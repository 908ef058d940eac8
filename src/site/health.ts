import type { FastifyInstance } from 'fastify';
import { sendAsIs } from '../http/problems.ts';
import type { Clock } from '../lib/clock.ts';
import { healthOperation } from '../model/public-api.ts';
import { addOperation } from './operation.ts';
import { createTimedBody } from './timed-body.ts';

/** `GET /api/health`: the liveness probe. */
export function addHealth(app: FastifyInstance, { baseUrl, clock }: { baseUrl: string; clock: Clock }): void {
  const bodyAt = createTimedBody((time) => healthDocument(baseUrl, time));
  addOperation(app, healthOperation, (_request, reply) => {
    sendAsIs(reply, 'application/json', bodyAt(clock.now()));
  });
}

/** The answer at `time`, RFC 3339. */
export function healthDocument(baseUrl: string, time: string) {
  return { success: true, data: { status: 'ok', service: new URL(baseUrl).hostname, time } };
}
