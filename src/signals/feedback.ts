import type { Clock } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { SignalFeedback, SignalStore } from '../store/signal-store.ts';

/** Says whether a signal was worth it; the last word counts. @throws DomainError `NOT_FOUND` */
export async function giveFeedback(
  { store, clock }: { store: SignalStore; clock: Clock },
  { tenantId, actorId }: Pick<SignalFeedback, 'tenantId' | 'actorId'>,
  said: Pick<SignalFeedback, 'signalId' | 'relevant' | 'reason'>,
): Promise<SignalFeedback> {
  const feedback = { ...said, tenantId, actorId, createdAt: clock.now() };
  if (await store.saveFeedback(feedback)) return feedback;
  throw new DomainError('NOT_FOUND', `There is no signal "${said.signalId}".`);
}
