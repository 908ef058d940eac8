import { createLimits, createSharedLimit } from '../lib/queues.ts';
import { DomainError } from '../model/errors.ts';

/** Maximum number of an account's waiting trials, each of which takes 4 s for long posts. */
const MAX_WAITING = 16;
/** Trials at once, of all accounts. */
const AT_ONCE = 8;
const RETRY_AFTER_SECONDS = 10;

const ofTenant = createLimits(1, { most: MAX_WAITING, error: tooMany });
const ofAll = createSharedLimit(AT_ONCE);

/**
 * Tries a draft with stored posts: up to 600 are in memory, 24 to 50 MB if they are long. An account tries one draft at a time: forty at
 * once ended a process with a heap of 1 GB.
 * @throws DomainError `UNAVAILABLE` if too many of the account are waiting
 */
export function tryOnPosts<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
  return ofTenant(tenantId, () => ofAll(tenantId, work));
}

function tooMany(): DomainError {
  return new DomainError('UNAVAILABLE', 'Too many drafts and previews of this account are being computed.', {
    hint: `Wait ${RETRY_AFTER_SECONDS} seconds (Retry-After), then try again.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
