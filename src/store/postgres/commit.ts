import { setTimeout as later } from 'node:timers/promises';
import type { StoredClaim, StoredLaneClaim } from '../changes/claims.ts';
import { createChanges, type NamedChange, type StoreStatements } from '../changes.ts';
import { translateFault } from '../commit-batch.ts';
import type { AnyChange, Script } from '../script.ts';
import { changeIn, ownerOf } from '../weights.ts';
import { type Committed, unavailable } from '../write-queue.ts';
import { createLaneClaims } from './claim-lanes.ts';
import { type Connection, InDoubtError } from './connection.ts';
import { faultOfPostgres, isConflict, isConnectionLost } from './faults.ts';
import { createDeliveredRecorder, outcomesFrom } from './record-delivered.ts';
import { answeredLater, createScriptRunner } from './runner.ts';
import { prepared } from './sql/prepared.ts';

interface CommitStep {
  /** What no other node may change at the same time. */
  locks: readonly string[];
  /** May be called again after a rollback. */
  run(): Promise<unknown>;
  /** Runs this change together with following ones, and returns a result for each; null: it has to run alone. */
  runMany: (() => { count: number; values: Promise<readonly unknown[]> }) | null;
}

/** A transaction in conflict with another is retried: each time, one of them succeeds. */
const MOST_TRIES = 10;

/**
 * How often to check whether a transaction whose connection was lost was committed: 50 ms apart at first, 20 s in
 * total.
 */
const MOST_LOOKS = 12;
const FIRST_LOOK_MS = 50;
const LONGEST_LOOK_MS = 3_000;

const readStatus = prepared('SELECT pg_xact_status(?::text::xid8)');
/** The server may not have noticed yet that the connection is gone. */
const endBackend = prepared(
  'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_xid = ?::text::xid8::xid',
);

/** Held until the transaction ends. Taken in the same order on all nodes, so that there are no deadlocks. */
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
  const runScript = createScriptRunner(db);

  async function runOne([name, args]: NamedChange): Promise<unknown> {
    const script = scripts[name];
    if (script === undefined) throw new Error(`There is no change "${name}".`);
    return runScript(script(...args));
  }

  const claimLanes = createLaneClaims(
    db,
    (claim) => runOne(['claimLanes', [claim]]) as Promise<StoredLaneClaim[]>,
  );
  const recordDelivered = createDeliveredRecorder(db);

  return (batch) =>
    commitSteps(
      db,
      batch.map(([name, args], index) => ({
        locks: locksOf([name, args]),
        run: () => (name === 'claimLanes' ? claimLanes(args[0] as StoredClaim) : runOne([name, args])),
        runMany:
          name !== 'recordDelivered'
            ? null
            : () => {
                const outcomes = outcomesFrom(batch, index);
                return { count: outcomes.length, values: recordDelivered(outcomes) };
              },
      })),
    );
}

/**
 * Runs all steps in one transaction. If a step fails by its own fault, all are run again in one transaction with a
 * savepoint each, so that it fails alone; without a failure there are no savepoints. If the storage is full, each
 * step gets its own transaction.
 */
async function commitSteps(db: Connection, steps: readonly CommitStep[]): Promise<Committed> {
  const values: unknown[] = [];
  const failed: Committed['failed'] = [];

  function fail(from: number, to: number, cause: unknown): void {
    const error =
      cause instanceof InDoubtError ? unknownOutcome(cause) : translateFault(cause, faultOfPostgres);
    for (let index = from; index < to; index++) {
      values[index] = undefined;
      failed.push({ index, error });
    }
  }

  async function run(index: number): Promise<void> {
    values[index] = await steps[index]?.run();
  }

  /** Combined steps are not waited for: their statement is sent, and runs before those of the following steps. */
  async function runAll(): Promise<void> {
    const underWay: Promise<void>[] = [];
    for (let index = 0; index < steps.length; ) {
      const many = steps[index]?.runMany?.() ?? null;
      if (many === null || many.count === 0) {
        await allOf([...underWay.splice(0), run(index++)]);
        continue;
      }
      const from = index;
      index += many.count;
      underWay.push(
        many.values.then((found) => {
          for (const [n, value] of found.entries()) values[from + n] = value;
        }),
      );
    }
    await allOf(underWay);
  }

  async function runApart(): Promise<void> {
    failed.length = 0;
    for (let index = 0; index < steps.length; index++) {
      const lost = await db.tryPart(() => run(index));
      if (lost === null) continue;
      // Any other error concerns the whole transaction.
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

/** Waits for all of them, even if one fails, so that nothing is sent after a rollback. */
async function allOf(work: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

/** Null if it was committed. The cause is boxed because anything can be thrown. */
async function attempt(
  db: Connection,
  locks: readonly string[],
  work: () => Promise<void>,
): Promise<{ cause: unknown } | null> {
  let isRetried = false;
  for (let tries = 1; ; tries++) {
    try {
      await db.transact(async () => {
        if (locks.length > 0) db.send(takeLocks, [locks]);
        await work();
      });
      return null;
    } catch (cause) {
      if (cause instanceof InDoubtError) {
        const committed = await wasCommitted(db, cause.transactionId);
        if (committed === true) return null;
        if (committed === null) return { cause };
      }
      const isLost = cause instanceof InDoubtError || isConnectionLost(cause);
      if (tries === MOST_TRIES || (isLost ? isRetried : !isConflict(cause))) return { cause };
      isRetried ||= isLost;
    }
  }
}

/** Null if the server cannot be asked. */
async function wasCommitted(db: Connection, transactionId: string): Promise<boolean | null> {
  let restMs = FIRST_LOOK_MS;
  for (let looks = 1; looks <= MOST_LOOKS; looks++) {
    try {
      const status = (await db.ask(readStatus, [transactionId])).rows[0]?.[0];
      if (status !== 'in progress') return status === 'committed';
      await db.ask(endBackend, [transactionId]);
    } catch (error) {
      // After a failover to a server that had not received the transaction, its number is unknown, so the result is,
      // too.
      if (faultOfPostgres(error) !== 'outage') return null;
    }
    await later(restMs);
    restMs = Math.min(LONGEST_LOOK_MS, restMs * 2);
  }
  return null;
}

function unknownOutcome(cause: InDoubtError): Error {
  const error = unavailable(
    'The connection to the storage was lost while this was stored, and could not be had again: it may have been stored. ' +
      'Look for it before you try again, or try again with the same Idempotency-Key.',
    'outage',
  );
  error.cause = cause;
  return error;
}

/**
 * Changes in which each statement decides by the rows that it updates or locks, so that it sees concurrent changes of
 * other nodes. They are the frequent ones, and those that cover all tenants.
 */
const DECIDED_BY_ROWS = new Set([
  ...['recordDelivered', 'recordAttempt', 'releaseLeases', 'recordTestSend', 'claimLanes', 'claimOldest'],
  ...['touchKey', 'touchSession', 'endSession', 'endSessionOf', 'revokeKey', 'noteRefusal', 'setLink'],
  ...['spendStep', 'spendRecoveryCode', 'offerFactor'],
  ...['markMailSent', 'markMailFailed', 'markMailAnnounced', 'resendMail', 'setDigestReader'],
  ...['leaseSources', 'putOffSource', 'holdHost', 'replanSources', 'runSource', 'advanceJob', 'writeProbe'],
  ...[
    'pruneSessions',
    'pruneKeys',
    'pruneMail',
    'pruneJobs',
    'pruneHolds',
    'pruneAudit',
    'pruneAttempts',
    'pruneTestSends',
  ],
  ...['pruneNearKeys', 'pruneBodyTails', 'pruneEndpoints', 'listErasures'],
  // A node whose heartbeat waited for another's housekeeping would be considered dead.
  ...['beat', 'leave'],
]);

/** For what belongs to no tenant: one node at a time. */
const HOUSE = 'house';

/**
 * What a change must lock on all nodes from its start to its commit, because it decides by rows that it only reads.
 * On SQLite, writers take turns; here those of one tenant do.
 */
export function locksOf(call: AnyChange): string[] {
  const [name, args] = changeIn(call);
  const locks = new Set(ownLocksOf([name, args]));
  // The record of a keyed request's change is written with it.
  if (call[0] === 'makeKept') locks.add(ownerOf(call));
  return [...locks];
}

function ownLocksOf([name, args]: AnyChange): string[] {
  return DECIDED_BY_ROWS.has(name) ? [] : [ownerOf([name, args]) || HOUSE];
}
