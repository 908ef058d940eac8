import { type ChangeScripts, createChanges, type StoreStatements } from '../changes.ts';
import { translateFault } from '../commit-batch.ts';
import type { Script } from '../script.ts';
import type { Committed } from '../write-queue.ts';
import type { Connection } from './connection.ts';
import { faultOfPostgres, isConflict } from './faults.ts';
import { locksOf } from './locks.ts';
import { answeredLater, createScriptRunner } from './runner.ts';
import { prepared } from './sql/prepared.ts';

/** A change by its name, with its arguments. */
export type NamedChange = readonly [name: keyof ChangeScripts, args: readonly unknown[]];

interface Step {
  /** What no other node may be changing meanwhile. */
  locks: readonly string[];
  /** May be called more than once, after a roll-back. */
  run(): Promise<unknown>;
}

/** A transaction that was in another's way is run again: each time one of them gets through. */
const MOST_TRIES = 10;

/** Held until the transaction ends. In one order on all nodes, so that none waits for one that waits for it. */
const takeLocks = prepared(
  `SELECT pg_advisory_xact_lock(key)
   FROM (SELECT DISTINCT hashtextextended(name, 0) AS key FROM unnest(?::text[]) name ORDER BY key) locks`,
);

/** Commits batches of changes over one connection, one after the other. */
export function createCommitter(db: Connection): (batch: readonly NamedChange[]) => Promise<Committed> {
  const scripts = createChanges(answeredLater<StoreStatements>()) as unknown as Record<
    string,
    (...args: readonly unknown[]) => Script<unknown>
  >;
  const run = createScriptRunner(db);

  return (batch) =>
    commitSteps(
      db,
      batch.map(([name, args]) => ({
        locks: locksOf([name, args]),
        async run() {
          const script = scripts[name];
          if (script === undefined) throw new Error(`There is no change "${name}".`);
          return run(script(...args));
        },
      })),
    );
}

/**
 * Runs all steps in one transaction. Where a step fails by its own fault, all are run once more in one transaction with a
 * savepoint for each, so that it fails alone; without a failure there are no savepoints. Where the storage is full each step
 * has a transaction of its own.
 */
async function commitSteps(db: Connection, steps: readonly Step[]): Promise<Committed> {
  const values: unknown[] = [];
  const failed: Committed['failed'] = [];

  function fail(from: number, to: number, cause: unknown): void {
    const error = translateFault(cause, faultOfPostgres);
    for (let index = from; index < to; index++) {
      values[index] = undefined;
      failed.push({ index, error });
    }
  }

  async function run(index: number): Promise<void> {
    values[index] = await steps[index]?.run();
  }

  async function runAll(): Promise<void> {
    for (let index = 0; index < steps.length; index++) await run(index);
  }

  async function runApart(): Promise<void> {
    failed.length = 0;
    for (let index = 0; index < steps.length; index++) {
      const lost = await db.tryPart(() => run(index));
      if (lost === null) continue;
      // What is not the step's own fault is that of the whole transaction.
      if (isConflict(lost.cause) || faultOfPostgres(lost.cause) !== null) throw lost.cause;
      fail(index, index + 1, lost.cause);
    }
  }

  const all = steps.flatMap(({ locks }) => locks);
  let lost = await attempt(db, all, runAll);
  if (lost !== null && steps.length > 1 && faultOfPostgres(lost.cause) === null) {
    lost = await attempt(db, all, runApart);
    if (lost !== null) failed.length = 0;
  }
  if (lost !== null && (steps.length === 1 || faultOfPostgres(lost.cause) === 'outage')) {
    fail(0, steps.length, lost.cause);
  } else if (lost !== null) {
    for (const [index, { locks }] of steps.entries()) {
      const single = await attempt(db, locks, () => run(index));
      if (single === null) continue;
      const isOutage = faultOfPostgres(single.cause) === 'outage';
      fail(index, isOutage ? steps.length : index + 1, single.cause);
      if (isOutage) break;
    }
  }
  return { values, failed };
}

/** Null where it was committed. The cause is boxed because anything can be thrown. */
async function attempt(
  db: Connection,
  locks: readonly string[],
  work: () => Promise<void>,
): Promise<{ cause: unknown } | null> {
  for (let tries = 1; ; tries++) {
    try {
      await db.transact(async () => {
        if (locks.length > 0) db.send(takeLocks, [locks]);
        await work();
      });
      return null;
    } catch (cause) {
      if (!isConflict(cause) || tries === MOST_TRIES) return { cause };
    }
  }
}
