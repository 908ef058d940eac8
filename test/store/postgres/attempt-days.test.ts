import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { idFloor } from '../../../src/lib/ids.ts';
import { dropAttemptDays, makeAttemptDays } from '../../../src/store/postgres/attempt-days.ts';
import { type Connection, connect } from '../../../src/store/postgres/connection.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { openPostgresStore } from '../../../src/store/postgres/open.ts';
import { mayLackPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts';

const DAY_MS = 86_400_000;

describe.skipIf(mayLackPostgres())('attempts on PostgreSQL', () => {
  let server: PostgresServer;
  let config: Awaited<ReturnType<PostgresServer['createDatabase']>>;
  let db: Connection;
  let other: Connection;
  /** The start of the database's day. */
  let today: number;

  beforeAll(async () => {
    server = await startPostgres();
  });
  beforeEach(async () => {
    config = await server.createDatabase();
    [db, other] = [await connect(config), await connect(config)];
    await migrate(db);
    const [now] = await select('SELECT (extract(epoch FROM now()) * 1000)::bigint');
    today = Math.floor(Number(now) / DAY_MS) * DAY_MS;
  });
  afterEach(async () => {
    await db.close();
    await other.close();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  async function select(sql: string): Promise<unknown[]> {
    return (await db.ask({ name: '', text: sql, members: null }, [])).rows.map((row) =>
      row.length === 1 ? row[0] : row,
    );
  }
  const tables = () =>
    select("SELECT tablename FROM pg_tables WHERE tablename LIKE 'attempts\\_%' ORDER BY tablename");
  const nameOf = (at: number) => `attempts_${new Date(at).toISOString().slice(0, 10).replaceAll('-', '')}`;
  const insert = (...times: number[]) =>
    db.execute(
      times
        .map(
          (at) => `INSERT INTO attempts (id, delivery_id, attempt, started_at, duration_ms, detail)
             VALUES ('${idFloor('att', at)}x', 'dlv_1', 1, ${at}, 3, '{}')`,
        )
        .join(';'),
    );
  const whereEachIs = () => select('SELECT tableoid::regclass::text, started_at FROM attempts ORDER BY id');

  test('are stored in one table per day, created in advance by several nodes at once', async () => {
    await Promise.all([makeAttemptDays(db, 1), makeAttemptDays(other, 1)]);
    await makeAttemptDays(db);
    const days = [-1, 0, 1, 2, 3].map((day) => today + day * DAY_MS);
    expect(await tables()).toEqual([...days.map(nameOf), 'attempts_other']);
    const [yesterday = 0] = days;
    const times = [yesterday - 1, yesterday, today - 1, today, today + 4 * DAY_MS - 1, today + 4 * DAY_MS];
    await insert(...times);
    expect(await whereEachIs()).toEqual([
      ['attempts_other', times[0]],
      [nameOf(yesterday), times[1]],
      [nameOf(yesterday), times[2]],
      [nameOf(today), times[3]],
      [nameOf(today + 3 * DAY_MS), times[4]],
      ['attempts_other', times[5]],
    ]);
  });

  test('of a day whose table was not created in time stay where they are', async () => {
    await insert(today + DAY_MS, today + 2 * DAY_MS);
    await makeAttemptDays(db);
    expect(await tables()).toEqual([nameOf(today), nameOf(today + 3 * DAY_MS), 'attempts_other']);
    expect(await select('SELECT count(*) FROM attempts')).toEqual([2]);
  });

  test('are dropped together with their day once all of it is due', async () => {
    await makeAttemptDays(db, 2);
    const first = today - 2 * DAY_MS;
    await insert(first, first + DAY_MS - 1, first + DAY_MS, today);
    await dropAttemptDays(db, first + DAY_MS - 1);
    expect(await select('SELECT count(*) FROM attempts')).toEqual([4]);
    await dropAttemptDays(db, first + DAY_MS);
    expect(await tables()).not.toContain(nameOf(first));
    expect(await select('SELECT started_at FROM attempts ORDER BY id')).toEqual([first + DAY_MS, today]);
  });

  test('waits briefly for a long read of another node, and drops the day the next time', async () => {
    await makeAttemptDays(db, 2);
    const tomorrow = nameOf(today + DAY_MS);
    await db.execute(`DROP TABLE ${tomorrow}`);
    await other.transact(async () => {
      await other.execute('SELECT count(*) FROM attempts');
      await dropAttemptDays(db, today);
      await makeAttemptDays(db);
      expect(await tables()).not.toContain(tomorrow);
    });
    expect(await tables()).toContain(nameOf(today - DAY_MS));
    await dropAttemptDays(db, today);
    await makeAttemptDays(db);
    expect(await tables()).toEqual(
      [0, 1, 2, 3].map((day) => nameOf(today + day * DAY_MS)).concat('attempts_other'),
    );
  });

  test('retention creates and drops days, and deletes all other attempts', async () => {
    await makeAttemptDays(db, 31);
    const kept = today - 30 * DAY_MS;
    await insert(today - 40 * DAY_MS, kept - DAY_MS, kept, today);
    const store = await openPostgresStore({ config, clock: systemClock });
    try {
      expect(await store.pruneAttempts(kept + 1, 500)).toBe(1);
    } finally {
      await store.close();
    }
    expect(await select('SELECT started_at FROM attempts ORDER BY id')).toEqual([kept, today]);
    expect(await tables()).toHaveLength(30 + 4 + 1);
  });
});
