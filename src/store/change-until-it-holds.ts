import { DomainError } from '../model/errors.ts';

/**
 * What its caller requires of a resource that is about to be changed, as it is stored at that moment. It throws where the
 * resource is another; the change is then stored only if its version is still the one that was looked at here.
 */
export type Precondition = (current: { id: string; version: number }) => void;

/** The precondition of a caller who has none. */
export const UNCONDITIONAL: Precondition = () => undefined;

/** Each failed try means that another change of the same resource was stored meanwhile: of n at once the last needs n. */
const MAX_TRIES = 200;

/**
 * Optimistic concurrency: reads, decides and stores, again and again until what was read still holds when it is stored
 * (`attempt` then returns something other than null). `what` names the resource in the refusal.
 * @throws DomainError `UNAVAILABLE` where it never does
 */
export async function changeUntilItHolds<T>(what: string, attempt: () => Promise<T | null>): Promise<T> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const result = await attempt();
    if (result !== null) return result;
  }
  const detail = `The ${what} is being changed by too many others at once. Nothing was stored; try again.`;
  throw new DomainError('UNAVAILABLE', detail, { retryAfterSeconds: 1 });
}
