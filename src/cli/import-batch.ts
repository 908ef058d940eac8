import { createHash } from 'node:crypto';
import { createIds } from '../lib/ids.ts';
import type { ObservedPost } from '../model/signal.ts';
import type { HeldKey } from '../store/idempotency-store.ts';
import { faultText } from './import-posts.ts';
import type { Opened } from './ports.ts';
import { CommandError } from './ports.ts';

/** What became of the rows of a batch. */
export interface BatchOutcome {
  created: number;
  duplicates: number;
  /** By place in the batch, why it was rejected after all. */
  rejected: { index: number; fault: string }[];
}

const ROUTE = 'import';
/** How long it is remembered that a batch came in: for so long, to go on costs nothing. */
const KEPT_MS = 24 * 3_600_000;

/**
 * Takes a batch in by the use case of `POST /v1/signals/batch`, under an idempotency key made of its content: a batch that
 * came in before is not read again, and one that was cut off is run to its end with nothing done twice.
 */
export async function importBatch(
  opened: Opened,
  tenantId: string,
  batch: { number: number; posts: readonly ObservedPost[] },
): Promise<BatchOutcome> {
  const { store, clock, newId } = opened;
  const fingerprint = createHash('sha256').update(JSON.stringify(batch.posts)).digest('hex');
  const request = { tenantId, route: ROUTE, key: `${batch.number}-${fingerprint}`, fingerprint };
  const now = clock.now();
  const reserved = await store.reserveKey(request, { token: newId('req'), now, expiresAt: now + KEPT_MS });
  if (reserved.state === 'answered') return JSON.parse(reserved.answer.body);
  if (reserved.state !== 'held') throw new CommandError('This file is being imported by another process.');
  try {
    const outcome = await observe(opened, tenantId, { held: reserved.held, posts: batch.posts });
    const answer = { status: 200, location: null, body: JSON.stringify(outcome) };
    await store.answerKey(request, reserved.held.token, answer);
    return outcome;
  } catch (error) {
    await store.releaseKey(request, reserved.held.token);
    throw error;
  }
}

async function observe(
  opened: Opened,
  tenantId: string,
  { held, posts }: { held: HeldKey; posts: readonly ObservedPost[] },
): Promise<BatchOutcome> {
  // Here, as scoring is much to load, and no other command needs it.
  const { observePosts } = await import('../signals/intake.ts');
  const clock = { ...opened.clock, now: () => held.startedAt };
  const newId = createIds(clock, opened.seededRandom(`${held.seed}/`));
  const parts = { ...opened, clock, newId, store: opened.store.keeping(held) };
  const results = await observePosts(parts, tenantId, posts);
  const count = (status: string) => results.filter((result) => result.status === status).length;
  return {
    created: count('created'),
    duplicates: count('duplicate'),
    rejected: results.flatMap((result, index) =>
      result.status === 'rejected' ? [{ index, fault: faultText(result.errors) }] : [],
    ),
  };
}
