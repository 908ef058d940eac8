import { createHash } from 'node:crypto';
import { createIds } from '../lib/ids.ts';
import type { SeededRandom } from '../lib/seeded-random.ts';
import type { ObservedPost } from '../model/signal.ts';
import type { Store } from '../store/store.ts';
import { type ObservedResult, observePosts } from './intake.ts';
import type { IntakeParts } from './plan-posts.ts';

/** How long it is remembered that posts came in: for so long, to go on costs nothing. */
const KEPT_MS = 24 * 3_600_000;

export interface KeptIntakeParts extends IntakeParts {
  store: Store;
  seededRandom: SeededRandom;
}

/** Posts that come in once, however often they are sent: `route` and `key` stand for them. */
export interface KeptPosts {
  tenantId: string;
  route: string;
  key: string;
  posts: readonly ObservedPost[];
}

/**
 * Takes posts in by the use case of `POST /v1/signals/batch`, under an idempotency key: what came in before is not read
 * again, and what was cut off is run to its end with nothing done twice. Returns what `sumUp` makes of the results, which
 * is kept as JSON; null where another process has them in hand.
 */
export async function observeKept<T>(
  parts: KeptIntakeParts,
  { tenantId, route, key, posts }: KeptPosts,
  sumUp: (results: ObservedResult[]) => T,
): Promise<T | null> {
  const { store, clock } = parts;
  const fingerprint = createHash('sha256').update(JSON.stringify(posts)).digest('hex');
  const request = { tenantId, route, key, fingerprint };
  const now = clock.now();
  const terms = { token: parts.newId('req'), now, expiresAt: now + KEPT_MS };
  const reserved = await store.reserveKey(request, terms);
  if (reserved.state === 'answered') return JSON.parse(reserved.answer.body);
  if (reserved.state !== 'held') return null;
  const { held } = reserved;
  try {
    const runClock = { ...clock, now: () => held.startedAt };
    const newId = createIds(runClock, parts.seededRandom(`${held.seed}/`));
    const run = { ...parts, clock: runClock, newId, store: store.keeping(held) };
    const summary = sumUp(await observePosts(run, tenantId, posts));
    const answer = { status: 200, location: null, body: JSON.stringify(summary) };
    await store.answerKey(request, held.token, answer);
    return summary;
  } catch (error) {
    await store.releaseKey(request, held.token);
    throw error;
  }
}
