import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished } from 'vitest';
import { createCommitMeter } from '../../../src/store/commit-meter.ts';
import { createCommitter } from '../../../src/store/postgres/commit.ts';
import { type Connection, connect } from '../../../src/store/postgres/connection.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { createReads } from '../../../src/store/postgres/reads.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { createCommitter as createSqliteCommitter } from '../../../src/store/sqlite/runner.ts';
import { createSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { createWriter } from '../../../src/store/writer.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { mayLackPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { migrated, T0 } from '../../support/store.ts';
import { bytesAsHex, sameRows } from '../../support/two-stores.ts';
import { describeStore } from '../contract/suite.ts';

describe.skipIf(mayLackPostgres())('compared with PostgreSQL', () => {
  let server: PostgresServer;
  let postgres: Connection;
  let reader: Connection;
  beforeAll(async () => {
    server = await startPostgres();
    const config = await server.createDatabase();
    [postgres, reader] = [await connect(config), await connect(config)];
    await migrate(postgres);
  });
  afterAll(async () => {
    await postgres.close();
    await reader.close();
    await server[Symbol.asyncDispose]();
  });

  /** A store on SQLite whose batches are also committed on PostgreSQL: both must return the same results. */
  describeStore('SQLite and PostgreSQL', async () => {
    await empty(postgres);
    const sqlite = openDatabase(':memory:', { contents: migrated() });
    const commitExpected = createSqliteCommitter(sqlite);
    const commit = createCommitter({
      ...postgres,
      transact: (work) =>
        postgres.transact(async () => {
          await postgres.execute(SAME_NUMBERS);
          await work();
        }),
    });
    const clock = createManualClock(T0);
    const faults: string[] = [];
    const writer = createWriter(
      async (batch) => {
        const expected = commitExpected(batch);
        const found = await commit(batch);
        const values = [found, expected].map((committed) =>
          JSON.stringify(bytesAsHex(committed.values), comparable),
        );
        if (values[0] !== values[1])
          faults.push(`${JSON.stringify(batch)}\n  PG ${values[0]}\n  SQ ${values[1]}`);
        const lost = [found, expected].map(({ failed }) => failed.map(({ index }) => index).join());
        if (lost[0] !== lost[1])
          faults.push(`${JSON.stringify(batch)}\n failed ${lost}: ${found.failed.map(({ error }) => error)}`);
        return expected;
      },
      async () => {},
      { meter: createCommitMeter(clock), storage: null },
    );
    const store = createSqliteStore({ db: sqlite, clock, writer, countsThread: null, searchThreads: null });
    for (const [name, read] of Object.entries(createReads(reader)))
      answerTwice(store, name as keyof Store, read as AnyRead, faults);
    onTestFinished(async () => {
      expect(faults).toEqual([]);
      if (!sqlite.open) return;
      const rows = await sameRows(sqlite, postgres);
      await store.close();
      expect(rows.found).toEqual(rows.expected);
    });
    return { store, clock };
  });
});

/**
 * A dead process's lease is deleted on SQLite, but kept on PostgreSQL for the node that takes over, which
 * therefore returns more.
 */
function comparable(name: string, value: unknown): unknown {
  return name === 'takenFrom' ? undefined : value;
}

type AnyRead = (...args: unknown[]) => Promise<unknown>;

/** Runs a read on both, returns the store's result, and records a fault if the other one differs. */
function answerTwice(store: Store, name: keyof Store, read: AnyRead, faults: string[]): void {
  const ofStore = store[name] as AnyRead;
  const cursors = createCursors();
  const isList = name === 'listSignals';
  Object.assign(store, {
    [name]: async (...args: unknown[]) => {
      const [expected, found] = await Promise.allSettled([
        ofStore(...args),
        read(...(isList ? cursors.translated(args) : args)),
      ]);
      if (isList) cursors.learn(expected, found);
      const [ofSqlite, ofPostgres] = [expected, found].map(outcomeOf);
      if (!isDeepStrictEqual(ofSqlite, ofPostgres)) {
        faults.push(`${name} ${JSON.stringify([args, { ofSqlite, ofPostgres }])}`);
      }
      if (expected.status === 'rejected') throw expected.reason;
      return expected.value;
    },
  });
}

interface CursorQuery {
  after: unknown;
}
type Settled = PromiseSettledResult<unknown>;

/** A signal's number within its millisecond may differ between engines: each gets its own cursor. */
function createCursors() {
  const known = new Map<string, unknown>();
  return {
    translated([tenantId, query]: unknown[]): unknown[] {
      const { after } = query as CursorQuery;
      return [tenantId, { ...(query as object), after: known.get(JSON.stringify(after)) ?? after }];
    },
    learn(expected: Settled, found: Settled): void {
      if (expected.status === 'rejected' || found.status === 'rejected') return;
      const [ofSqlite, ofPostgres] = [expected.value, found.value] as { last: number[] | null }[];
      if (!ofSqlite?.last || !ofPostgres?.last || ofSqlite.last[0] !== ofPostgres.last[0]) return;
      known.set(JSON.stringify(ofSqlite.last), ofPostgres.last);
      found.value = { ...ofPostgres, last: ofSqlite.last };
    },
  };
}

function outcomeOf(settled: PromiseSettledResult<unknown>): unknown {
  if (settled.status === 'rejected') return String(settled.reason);
  return JSON.parse(JSON.stringify([bytesAsHex(settled.value)]));
}

/** Deletes every row, which takes a tenth of the time needed to create the tables again. */
async function empty(db: Connection): Promise<void> {
  const { rows } = await db.ask(
    { name: '', text: 'SELECT tablename FROM pg_tables WHERE schemaname = current_schema()', members: null },
    [],
  );
  const tables = rows
    .map(([name]) => String(name))
    .filter((name) => !['schema_version', 'probe'].includes(name));
  // As a replica, it runs no triggers and checks no foreign keys.
  await db.execute(`SET session_replication_role = replica;
    ${tables.map((name) => `DELETE FROM ${name};`).join('\n')}
    UPDATE probe SET at = 0; ALTER SEQUENCE signal_order RESTART; SET session_replication_role = origin;`);
}

/** Resets a rolled-back number, so that it is assigned again as in SQLite. */
const SAME_NUMBERS = ['audit.position', 'body_tails.id', 'delivery_bodies.id', 'source_runs.seq']
  .concat(['endpoint_notices.id', 'erasure_steps.position'])
  .map((column) => column.split('.') as [string, string])
  .map(
    ([table, column]) =>
      `SELECT setval(pg_get_serial_sequence('${table}', '${column}'),
         coalesce((SELECT max(${column}) FROM ${table}), 0) + 1, false);`,
  )
  .join('\n');
