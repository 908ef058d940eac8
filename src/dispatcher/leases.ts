/** The longest timeout of an endpoint. */
const LONGEST_ATTEMPT_MS = 30_000;
/** A lease holds the wait for a turn, the longest attempt, and its commit. */
const LEASE_MS = LONGEST_ATTEMPT_MS + 30_000;
/** What a lease has beside, so that it is not written anew for each event. */
const SPARE_MS = 15_000;

/** How long a claimed delivery may wait for its turn; later the attempt could outlive the lease. */
export const WAIT_MS = 20_000;

/**
 * Until when what was claimed may wait, monotonic: the wait counts from the claim's answer, as far as the lease's spare time
 * makes up for what the claim itself waited for the writer.
 */
export function handLimit(askedAt: number, answeredAt: number): number {
  return Math.min(answeredAt, askedAt + SPARE_MS) + WAIT_MS;
}

/** When a lease taken at `now` runs out, Unix milliseconds. */
export function leaseEnd(now: number): number {
  return now + LEASE_MS + SPARE_MS;
}

/** Until when a lease has to last for what is taken at `now`, Unix milliseconds. */
export function leaseNeeded(now: number): number {
  return now + LEASE_MS;
}
