import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { SharedLock } from '../turns.ts';
import { unavailable } from '../write-queue.ts';
import type { Connection } from './connection.ts';
import { prepared } from './sql/prepared.ts';

const TRY_EVERY_MS = 50;
const WITHIN_MS = 30_000;
/** Groups of an owner's names, each with a lock: the server has room for a few thousand locks in all. */
const GROUPS = 64n;

const tryAll = prepared(
  'SELECT key::text, pg_try_advisory_lock(key) AS taken FROM unnest(?::bigint[]) AS key ORDER BY key',
);
const release = prepared('SELECT pg_advisory_unlock(key) FROM unnest(?::bigint[]) AS key');

/**
 * A lock between nodes. It belongs to the connection, so that the server ends it with its node. Waiting in a statement would hold up
 * the connection, on which others are released: it tries again instead, and holds nothing in the meantime.
 */
export function createNodeLock(db: Connection, clock: Clock): SharedLock {
  async function tryOnce(keys: readonly string[]): Promise<boolean> {
    const { rows } = await db.ask(tryAll, [keys]);
    const taken = rows.filter(([, isTaken]) => isTaken === true).map(([key]) => String(key));
    if (taken.length === keys.length) return true;
    if (taken.length > 0) await db.ask(release, [taken]);
    return false;
  }

  return {
    async take(owner, names) {
      const keys = keysOf(owner, names);
      const until = clock.monotonic() + WITHIN_MS;
      while (!(await tryOnce(keys))) {
        if (clock.monotonic() >= until)
          throw unavailable('The same posts are being changed by other requests. Try again shortly.');
        await new Promise<void>((resolve) => clock.after(TRY_EVERY_MS, resolve));
      }
      // If the connection is lost, the server has released them.
      return async () => void (await db.ask(release, [keys]).catch(() => undefined));
    },
  };
}

function keysOf(owner: string, names: readonly string[]): string[] {
  const base = hashOf(owner) & ~(GROUPS - 1n);
  return [...new Set(names.map((name) => String(base | (hashOf(name) & (GROUPS - 1n)))))];
}

function hashOf(text: string): bigint {
  return createHash('sha256').update(text).digest().readBigInt64BE();
}
