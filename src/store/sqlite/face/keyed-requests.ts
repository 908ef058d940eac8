import type { Doer } from '../../changes/requests.ts';
import type { Changes } from '../../changes.ts';
import type { HeldKey, IdempotencyStore } from '../../idempotency-store.ts';
import { KEPT_STEPS } from '../../kept-steps.ts';
import type { Presence } from '../../presence.ts';
import type { CommittedSignal } from '../../signal-store.ts';
import type { Store } from '../../store.ts';
import type { Promised } from './promised.ts';

/** Keyed requests. */
export function keyedRequestFace(changes: Promised<Changes>, presence: Presence): IdempotencyStore {
  /** Tokens of what this process runs: what it holds beside them was given up without the storage hearing of it. */
  const underWay = new Set<string>();

  return {
    async reserveKey(request, reservation) {
      const { token } = reservation;
      underWay.add(token);
      let from: string | null = null;
      try {
        const process = await presence.name();
        for (;;) {
          const found = await changes.bidForKey(request, { ...reservation, process, from });
          if (found.state !== 'taken') {
            if (found.state !== 'held') underWay.delete(token);
            return found;
          }
          if (!found.own || underWay.has(found.token)) {
            underWay.delete(token);
            return { state: 'running' };
          }
          from = found.token; // nobody comes back to it: the next bid has it, or meets whoever was faster
        }
      } catch (error) {
        underWay.delete(token);
        throw error;
      }
    },
    answerKey: (request, token, answer) =>
      changes.answerKey(request, token, answer).finally(() => underWay.delete(token)),
    releaseKey: (request, token) => changes.releaseKey(request, token).finally(() => underWay.delete(token)),
  };
}

/** The store whose changes are made through `held` ({@link Store.keeping}). */
export function keepingFace(
  store: Store,
  changes: Promised<Changes>,
  { held, item, doerOf }: { held: HeldKey; item: string; doerOf: (name: string) => Doer | null },
): Store {
  const { request, token } = held;
  const done = held.steps.filter((step) => step.item === item);

  async function make(name: string, args: unknown[]): Promise<unknown> {
    const place = done.findIndex((step) => step.name === name);
    if (place >= 0) return done.splice(place, 1)[0]?.result;
    return changes.makeKept({ request, token, item, name, args, by: doerOf(name) });
  }

  const kept = Object.fromEntries(KEPT_STEPS.map((name) => [name, (...args: unknown[]) => make(name, args)]));
  return {
    ...store,
    ...kept,
    // Nothing is taken: a second run would be told that it holds what was this one's, and send it again.
    async commitSignalsInHand(signals) {
      return { committed: (await make('commitSignals', [signals])) as CommittedSignal[], taken: [] };
    },
  };
}
