import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyStore } from '../../../src/store/copy/copy-store.ts';
import type { Connection } from '../../../src/store/postgres/connection.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { openPostgresStore } from '../../../src/store/postgres/open.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { temporaryFolder } from '../../cli/process.ts';
import { buildTestApp } from '../../support/app.ts';
import {
  addMany,
  connected,
  createDatabase,
  expectSameRows,
  makeFullStore,
} from '../../support/full-store.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { mayLackPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { T0 } from '../../support/store.ts';

describe.skipIf(mayLackPostgres())('a copy to PostgreSQL', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const value = (db: Connection, text: string) =>
    db.ask({ name: '', text, members: null }, []).then(({ rows }) => rows[0]?.[0]);

  it('contains every row of every table with its position', async () => {
    using folder = temporaryFolder();
    const { file } = await makeFullStore(join(folder.path, 'signalpost.db'));
    const to = await createDatabase(server);
    const steps: string[] = [];
    const report = await copyStore({ file, to, onProgress: ({ step }) => steps.push(step) });
    expect(report.isCopied).toBe(true);
    expect(report.tables.filter(({ isSame }) => !isSame)).toEqual([]);
    const empty = report.tables.filter(({ sqlite }) => sqlite.rows === 0).map(({ name }) => name);
    expect(empty).toEqual([]);
    expect([...new Set(steps)]).toEqual(['read', 'copy', 'compare']);
    await expectSameRows(file, to);

    const sqlite = new Sqlite(file, { readonly: true });
    const seqs = (sql: string) => sqlite.prepare(sql).pluck().safeIntegers().all().map(String).join();
    await connected(to, async (db) => {
      // The order of a list, and the position of a lead.
      expect(await value(db, "SELECT string_agg(seq::text, ',' ORDER BY seq) FROM signals")).toBe(
        seqs('SELECT seq FROM signals ORDER BY seq'),
      );
      expect(await value(db, "SELECT string_agg(place::text, ',' ORDER BY id) FROM leads")).toBe(
        seqs('SELECT rowid FROM leads ORDER BY id'),
      );
      // The copy leaves nothing behind, and triggers assign numbers to new rows.
      expect(await value(db, "SELECT to_regclass('unfinished_copy')")).toBe(null);
      expect(await value(db, "SELECT count(*) FROM pg_trigger WHERE tgenabled <> 'O'")).toBe(0);
      const next = "SELECT nextval(pg_get_serial_sequence('audit', 'position')) > max(position) FROM audit";
      expect(await value(db, next)).toBe(true);
    });
    sqlite.close();
  });

  it('can be opened by a store that continues the commit order', async () => {
    using folder = temporaryFolder();
    const { file } = await makeFullStore(join(folder.path, 'signalpost.db'));
    const to = await createDatabase(server);
    const config = { connectionString: to };
    await copyStore({ file, to, onProgress: () => {} });
    const before = new Sqlite(file, { readonly: true });
    const position = Number(before.prepare('SELECT max(position) FROM stored_rows').pluck().get());
    before.close();
    const clock = createManualClock(T0);
    const [sqlite, postgres] = [
      await openSqliteStore({ file, clock }),
      await openPostgresStore({ config, clock }),
    ];
    try {
      const [tenant] = await postgres.listTenants();
      expect(tenant).toEqual((await sqlite.listTenants())[0]);
      const id = tenant?.id ?? '';
      for (const store of [sqlite, postgres]) await store.probe();
      await connected(to, async (db) => {
        await db.execute(
          `INSERT INTO events (id, tenant_id, type, subject_id, created_at, data)
           VALUES ('evt_new', '${id}', 'signal.detected', 's', 0, '{}')`,
        );
        const text = "SELECT position FROM event_positions WHERE event_id = 'evt_new'";
        expect(Number(await value(db, text))).toBeGreaterThan(position);
      });
    } finally {
      await sqlite.close();
      await postgres.close();
    }
  });

  it('returns the same lists as SQLite, and accepts its cursors', async () => {
    using folder = temporaryFolder();
    const { file, apiKey } = await makeFullStore(join(folder.path, 'signalpost.db'));
    const to = await createDatabase(server);
    await copyStore({ file, to, onProgress: () => {} });
    const clock = createManualClock(T0 + 3_600_000);
    const postgres = await openPostgresStore({ config: { connectionString: to }, clock });
    const env = { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' };
    const apps = [
      await buildTestApp({ file, env, isEmpty: true }),
      await buildTestApp({ env, isEmpty: true, wrapStore: () => postgres }),
    ] as const;
    for (const app of apps) app.clock.advance(3_600_000);
    const headers = { authorization: `Bearer ${apiKey}` };
    async function answers(url: string) {
      const bodies = [];
      for (const { app } of apps) {
        const { statusCode, body } = await app.inject({ url, headers });
        // The last use of a key is recorded shortly after it, by this very query.
        const noted = (name: string, value: unknown) => (name === 'last_used_at' ? undefined : value);
        bodies.push({ url, statusCode, body: JSON.parse(body, noted) });
      }
      return bodies;
    }

    try {
      const lists = apps[0].routes
        .filter(({ method, url }) => method === 'GET' && /^\/v1\/[^:*]+$/.test(url))
        .map(({ url }) => url);
      expect(lists.length).toBeGreaterThan(15);
      let pages = 0;
      const queries = ['limit=2', 'limit=2&order=stored', 'limit=2&q=scheduling', 'limit=1&sort=-score'];
      for (const url of lists.flatMap((list) => queries.map((query) => `${list}?${query}`))) {
        for (let next = url; ; ) {
          const [expected, found] = await answers(next);
          if (expected?.statusCode === 200) expect(found).toEqual(expected);
          // A problem has its own request ID.
          else expect([next, found?.body.code]).toEqual([next, expected?.body.code]);
          const cursor = expected?.body.pagination?.has_more === true && expected.body.pagination.next_cursor;
          if (!cursor) break;
          pages++;
          next = `${url}&cursor=${encodeURIComponent(cursor)}`;
        }
      }
      expect(pages).toBeGreaterThan(20);
    } finally {
      for (const { app } of apps) await app.close();
      await postgres.close();
    }
  });

  it('reports that it can be continued after PostgreSQL is unavailable, and continues', async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'signalpost.db');
    await makeFullStore(file);
    addMany(file, 5_000);
    const to = await createDatabase(server);
    let restarted: Promise<void> | null = null;
    const broken = copyStore({
      ...{ file, to },
      onProgress({ step, done }) {
        if (step === 'copy' && done > 3_000) restarted ??= server.restart('SIGQUIT', 0);
      },
    });
    await expect(broken).rejects.toThrow('no longer responds. Run the same command again');
    await restarted;
    let begun = -1;
    const report = await copyStore({
      ...{ file, to },
      onProgress({ step, done }) {
        if (step === 'copy' && begun === -1) begun = done;
      },
    });
    expect(begun).toBeGreaterThan(1_000);
    expect(report.tables.filter(({ isSame }) => !isSame)).toEqual([]);
    await expectSameRows(file, to);
  });

  it('rejects a source that has changed since, and a target that is not empty', async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'signalpost.db');
    await makeFullStore(file);
    const to = await createDatabase(server);
    addMany(file, 3_000);
    await connected(to, migrate);
    await expect(
      copyStore({
        ...{ file, to },
        onProgress({ step, done }) {
          if (step === 'copy' && done > 1_500) throw new Error('ended');
        },
      }),
    ).rejects.toThrow('ended');
    const changed = new Sqlite(file);
    changed.exec("UPDATE tenants SET name = 'Renamed since'");
    changed.close();
    await expect(copyStore({ file, to, onProgress: () => {} })).rejects.toThrow('has changed since');

    const other = await createDatabase(server);
    await connected(other, (db) => db.execute('CREATE TABLE theirs (a int)'));
    await expect(copyStore({ file, to: other, onProgress: () => {} })).rejects.toMatchObject({
      fault: 'foreign_database',
    });
    const used = await createDatabase(server);
    await connected(used, migrate);
    await connected(used, (db) => db.execute("INSERT INTO master_key VALUES (1, 'theirs')"));
    await expect(copyStore({ file, to: used, onProgress: () => {} })).rejects.toThrow(
      'already holds another store',
    );
  });
});
