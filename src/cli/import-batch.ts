import { createHash } from 'node:crypto';
import type { ObservedPost } from '../model/signal.ts';
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

/** Takes a batch in under a key made of its content: stopped half way, the same command goes on. */
export async function importBatch(
  opened: Opened,
  tenantId: string,
  { number, posts }: { number: number; posts: readonly ObservedPost[] },
): Promise<BatchOutcome> {
  // Here, as scoring is much to load, and no other command needs it.
  const { observeKept } = await import('../signals/kept-intake.ts');
  const fingerprint = createHash('sha256').update(JSON.stringify(posts)).digest('hex');
  const kept = { tenantId, route: ROUTE, key: `${number}-${fingerprint}`, posts };
  const outcome = await observeKept(opened, kept, (results): BatchOutcome => {
    const count = (status: string) => results.filter((result) => result.status === status).length;
    return {
      created: count('created'),
      duplicates: count('duplicate'),
      rejected: results.flatMap((result, index) =>
        result.status === 'rejected' ? [{ index, fault: faultText(result.errors) }] : [],
      ),
    };
  });
  if (outcome === null) throw new CommandError('This file is being imported by another process.');
  return outcome;
}
