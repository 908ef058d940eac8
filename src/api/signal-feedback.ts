import { toIso } from '../lib/clock.ts';
import { feedbackInputSchema, feedbackSchema } from '../model/feedback.ts';
import { giveFeedback } from '../signals/feedback.ts';
import type { Routes } from './routes.ts';

/** `POST /v1/signals/{id}/feedback`: whether a signal was worth it. */
export function addSignalFeedback(signals: Routes): void {
  signals.post('/signals/:id/feedback', {
    operationId: 'giveSignalFeedback',
    summary: 'Say whether a signal was relevant',
    description:
      'The last word counts: said again, it takes the place of what was said before. The preview of a profile shows it beside each score.',
    scope: 'signals:write',
    body: feedbackInputSchema,
    answer: feedbackSchema,
    async handle({ parts, caller: { tenant, key }, params, body: { relevant, reason } }) {
      const by = { tenantId: tenant.id, actorId: key.id };
      const { signalId, createdAt } = await giveFeedback(parts, by, {
        signalId: params.id,
        relevant,
        reason,
      });
      return { signal_id: signalId, relevant, reason, created_at: toIso(createdAt) };
    },
  });
}
