import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { runParts } from '../http/idempotency.ts';
import { idParams, noQuery } from '../http/path.ts';
import { toIso } from '../lib/clock.ts';
import { feedbackInputSchema, feedbackSchema } from '../model/feedback.ts';
import { giveFeedback } from '../signals/feedback.ts';
import type { ApiParts } from './parts.ts';

/** `POST /v1/signals/{id}/feedback`: whether a signal was worth it. */
export function addSignalFeedback(
  app: FastifyInstance,
  parts: Pick<ApiParts, 'store' | 'clock' | 'newId' | 'seededRandom'>,
): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/signals/:id/feedback',
    {
      config: { scope: 'signals:write' },
      schema: {
        operationId: 'giveSignalFeedback',
        summary: 'Say whether a signal was relevant',
        description:
          'The last word counts: said again, it takes the place of what was said before. The preview of a profile shows it beside each score.',
        tags: ['Signals'],
        params: idParams,
        querystring: noQuery,
        body: feedbackInputSchema,
        response: { 200: z.strictObject({ data: feedbackSchema }) },
      },
    },
    async (request) => {
      const { tenant, key } = callerOf(request);
      const { relevant, reason } = request.body;
      const by = { tenantId: tenant.id, actorId: key.id };
      const said = { signalId: request.params.id, relevant, reason };
      const { signalId, createdAt } = await giveFeedback(runParts(request, parts), by, said);
      return { data: { signal_id: signalId, relevant, reason, created_at: toIso(createdAt) } };
    },
  );
}
