import type { FastifyInstance } from 'fastify';
import { addFaceGate } from '../http/face-gate.ts';
import type { Problems } from '../http/problems.ts';
import type { Clock } from '../lib/clock.ts';
import { addHealth } from './health.ts';
import { addHome } from './home.ts';
import { addPublicGate } from './public-gate.ts';

export interface SiteParts {
  baseUrl: string;
  clock: Clock;
  problems: Problems;
  /** Requests per client and window under /api. */
  publicRateLimit: number;
}

/** The public API; registered under `/api`. */
export async function publicApi(app: FastifyInstance, parts: SiteParts): Promise<void> {
  addPublicGate(app, { ...parts, limit: parts.publicRateLimit });
  addHealth(app, parts);
}

/** The site's pages, and the answer to every path that no face knows; registered without a prefix. */
export async function pages(app: FastifyInstance, parts: SiteParts): Promise<void> {
  addFaceGate(app, { problems: parts.problems, hint: `Start at ${parts.baseUrl}/` });
  addHome(app, parts);
}
