import type { FastifyInstance } from 'fastify';
import type { Deprecation } from '../http/deprecations.ts';
import type { Problems } from '../http/problems.ts';
import type { Clock } from '../lib/clock.ts';
import type { SiteContent } from './content/site-content.ts';
import { createDocuments } from './documents/documents.ts';
import { addHealth } from './health.ts';
import { createNegotiation } from './negotiation.ts';
import { createPageErrors } from './page-errors.ts';
import { addPageGate } from './page-gate.ts';
import { addAssets, addPages } from './pages.ts';
import { addPublicGate } from './public-gate.ts';
import { sendRepresentation } from './representation.ts';
import { addStatus } from './status.ts';

export interface SiteParts {
  baseUrl: string;
  clock: Clock;
  problems: Problems;
  content: SiteContent;
  deprecations: readonly Deprecation[];
  /** Requests per client and window under /api. */
  publicRateLimit: number;
}

/** The public API; registered under `/api`. */
export async function publicApi(app: FastifyInstance, parts: SiteParts): Promise<void> {
  addPublicGate(app, { ...parts, limit: parts.publicRateLimit });
  addHealth(app, parts);
  addStatus(app, { ...parts, identity: parts.content.identity });
}

/**
 * The site's pages and documents, and the answer to every path that no face knows; registered without a prefix.
 * Everything is made here, at start: a request only picks.
 */
export async function pages(app: FastifyInstance, parts: SiteParts): Promise<void> {
  const { clock } = parts;
  const made = { ...parts, negotiate: createNegotiation(), madeAt: clock.now() };
  addPageGate(app, createPageErrors(made));
  addPages(app, made);
  addAssets(app, made);
  for (const document of await createDocuments(made)) {
    app.get(document.path, (request, reply) => {
      sendRepresentation(request, reply, document.at(clock.now()));
    });
  }
}
