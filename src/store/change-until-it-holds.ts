import { DomainError } from '../model/errors.ts';

/**
 * A caller's condition on the current state of a resource before a change; it throws if the condition is not met. The change is
 * stored only if the version is still the one checked here.
 */
export type Precondition = (current: { id: string; version: number }) => void;

/** No precondition. */
export const UNCONDITIONAL: Precondition = () => undefined;

/** Each failed try means that another change of the resource was stored meanwhile: with n concurrent writers, the last needs n. */
const MAX_TRIES = 200;

/**
 * Optimistic concurrency: reads, decides and stores, and repeats this until what was read still holds when it is stored
 * (`attempt` then returns something other than null). `what` names the resource in the error.
 * @throws DomainError `UNAVAILABLE` if all tries fail
 */
export async function changeUntilItHolds<T>(what: string, attempt: () => Promise<T | null>): Promise<T> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const result = await attempt();
    if (result !== null) return result;
  }
  const detail = `The ${what} is being changed by too many others at once. Nothing was stored; try again.`;
  throw new DomainError('UNAVAILABLE', detail, { retryAfterSeconds: 1 });
}
