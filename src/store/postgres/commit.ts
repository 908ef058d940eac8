import { setTimeout as later } from 'node:timers/promises';
import type { StoredClaim, StoredLaneClaim } from '../changes/claims.ts';
import { type ChangeScripts, createChanges, type StoreStatements } from '../changes.ts';
import { translateFault } from '../commit-batch.ts';
import type { Script } from '../script.ts';
import { changeIn, ownerOf } from '../weights.ts';
import { type Committed, unavailable } from '../write-queue.ts';
import { createLaneClaims } from './claim-lanes.ts';
import { type Connection, InDoubtError } from './connection.ts';
import { faultOfPostgres, isConflict, isConnectionLost } from './faults.ts';
import { createDeliveredRecorder, outcomesFrom } from './record-delivered.ts';
import { answeredLater, createScriptRunner } from './runner.ts';
import { prepared } from './sql/prepared.ts';

/** A change by its name, with its arguments. */
export type NamedChange = readonly [name: keyof ChangeScripts, args: readonly unknown[]];

interface Step {
  /** What no other node may be changing meanwhile. */
  locks: readonly string[];
  /** May be called more than once, after a roll-back. */
  run(): Promise<unknown>;
  /** Runs this one and others behind it at once, and answers for each; null: it has to be run by itself. */
  runMany: (() => { count: number; values: Promise<readonly unknown[]> }) | null;
}

/** A transaction that was in another's way is run again: each time one of them gets through. */
const MOST_TRIES = 10;

/** How long it is looked for whether a transaction was committed whose connection was lost: 50 ms at first, 20 s in all. */
const MOST_LOOKS = 12;
const FIRST_LOOK_MS = 50;
const LONGEST_LOOK_MS = 3_000;

const readStatus = prepared('SELECT pg_xact_status(?::text::xid8)');
/** The server may not have noticed yet that the connection is gone. */
const endBackend = prepared(
  'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_xid = ?::text::xid8::xid',
);

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
 * Runs all steps in one transaction. Where a step fails by its own fault, all are run once more in one transaction with a
 * savepoint for each, so that it fails alone; without a failure there are no savepoints. Where the storage is full each step
 * has a transaction of its own.
 */
async function commitSteps(db: Connection, steps: readonly Step[]): Promise<Committed> {
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

  /** What runs many at once is not waited for: its statement is sent, and run before those of the steps behind it. */
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

/** Waits for all of them, also where one fails: nothing of them is sent behind a roll-back. */
async function allOf(work: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

/** Null where it was committed. The cause is boxed because anything can be thrown. */
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

/** Null where the server cannot be asked. */
async function wasCommitted(db: Connection, transactionId: string): Promise<boolean | null> {
  let restMs = FIRST_LOOK_MS;
  for (let looks = 1; looks <= MOST_LOOKS; looks++) {
    try {
      const status = (await db.ask(readStatus, [transactionId])).rows[0]?.[0];
      if (status !== 'in progress') return status === 'committed';
      await db.ask(endBackend, [transactionId]);
    } catch (error) {
      // It cannot know the number after a fail-over to a server that had not received it: neither can it say what became of it.
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

/** A change by its name, with its arguments. */
type AnyCall = readonly [name: string, args: readonly unknown[]];

/**
 * Changes each of whose statements decides by the rows that it changes or locks: what another node does meanwhile is found in
 * them. They are the frequent ones, and those that go through all tenants.
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
    'pruneAudit',
    'pruneAttempts',
    'pruneTestSends',
  ],
  ...['pruneNearKeys', 'pruneBodyTails', 'pruneEndpoints', 'listErasures'],
  // A node whose heartbeat waited for another's housekeeping would be taken for dead.
  ...['beat', 'leave'],
]);

/** Of what concerns no one tenant: one node at a time. */
const HOUSE = 'house';

/**
 * What a change must have to itself, on all nodes, from its start to its commit: it decides by rows that it only reads. On
 * SQLite writers take turns; here those of one tenant do.
 */
export function locksOf(call: AnyCall): string[] {
  const [name, args] = changeIn(call);
  const locks = new Set(ownLocksOf([name, args]));
  // What a keyed request has made is written beside it.
  if (call[0] === 'makeKept') locks.add(ownerOf(call));
  return [...locks];
}

function ownLocksOf([name, args]: AnyCall): string[] {
  return DECIDED_BY_ROWS.has(name) ? [] : [ownerOf([name, args]) || HOUSE];
}
