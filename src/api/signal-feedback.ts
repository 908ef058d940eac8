import { toIso } from '../lib/clock.ts';
import { feedbackInputSchema, feedbackSchema } from '../model/feedback.ts';
import { giveFeedback } from '../signals/feedback.ts';
import type { Routes } from './routes.ts';

/** `POST /v1/signals/{id}/feedback`: whether a signal was relevant. */
export function addSignalFeedback(signals: Routes): void {
  signals.post('/signals/:id/feedback', {
    operationId: 'giveSignalFeedback',
    summary: 'Give feedback on a signal',
    description:
      'Records whether the signal was relevant, replacing earlier feedback. Feedback determines the precision of a profile and its ' +
      'suggestions.',
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
