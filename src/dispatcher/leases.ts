/** The longest timeout of an endpoint. */
const LONGEST_ATTEMPT_MS = 30_000;
/** A lease holds the wait for a turn, the longest attempt, and its commit. */
const LEASE_MS = LONGEST_ATTEMPT_MS + 30_000;
/** What a lease has beside, so that it is not written anew for each event. */
const SPARE_MS = 15_000;

/** How long a claimed delivery may wait for its turn; later the attempt could outlive the lease. */
export const WAIT_MS = 20_000;

/** When a lease taken at `now` runs out, Unix milliseconds. */
export function leaseEnd(now: number): number {
  return now + LEASE_MS + SPARE_MS;
}

/** Until when a lease has to last for what is taken at `now`, Unix milliseconds. */
export function leaseNeeded(now: number): number {
  return now + LEASE_MS;
}
