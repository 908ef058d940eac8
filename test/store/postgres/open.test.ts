import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, createConnection as dial, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createKeyProof } from '../../../src/lib/secret-box.ts';
import { connect } from '../../../src/store/postgres/connection.ts';
import { openPostgresStore } from '../../../src/store/postgres/open.ts';
import { databaseUrl, mayLackPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { aKey, aTenant } from '../../support/store.ts';

type Config = Awaited<ReturnType<PostgresServer['createDatabase']>>;

describe.skipIf(mayLackPostgres())('a store on PostgreSQL', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => server[Symbol.asyncDispose]());

  async function open(config: Config) {
    const store = await openPostgresStore({ config, clock: systemClock });
    onTestFinished(store.close);
    return store;
  }

  /** Makes the server close every other connection to the database, and waits until they are closed and no longer count. */
  async function endConnections(config: Config): Promise<void> {
    const db = await connect(config);
    await db.execute(
      `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    await db.close();
  }

  // Each answer of the server would wait for whatever the thread of the requests does at that moment: a commit of thirty posts
  // took 0.7 s.
  test('commits in its writer thread while its own is busy', async () => {
    const config = await server.createDatabase();
    const store = await openPostgresStore({ config, clock: systemClock, writerThread: true });
    onTestFinished(store.close);
    await store.createTenant(aTenant('ten_a'));
    const stored = store.createKey(aKey('ten_a', { id: 'key_1' }), 9);
    await new Promise((resolve) => setImmediate(resolve)); // it is sent at the end of this turn

    const folder = mkdtempSync(join(tmpdir(), 'signalpost-dump-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'keys.sql');
    const dump = ['--data-only', '--table=api_keys', `--file=${file}`, databaseUrl(config)];
    let looks = 0;
    for (let isThere = false; !isThere && looks < 50; looks++) {
      server.runProgram('pg_dump', dump); // synchronous: this thread does nothing else
      isThere = readFileSync(file, 'utf8').includes('key_1');
    }
    expect(looks).toBeLessThan(50);
    await stored;
    await expect(store.createTenant(aTenant('ten_a'))).rejects.toThrow('duplicate key');
    expect((await store.listKeys('ten_a')).map(({ id }) => id)).toContain('key_1');
  });

  test('serves what another node has stored, and counts that node', async () => {
    const config = await server.createDatabase();
    const [first, second] = [await open(config), await open(config)];
    await first.createTenant(aTenant('ten_a'));
    expect(await second.getTenant('ten_a')).toMatchObject({ id: 'ten_a', plan: 'pro' });
    expect([await first.countOthers(), await second.countOthers()]).toEqual([0, 1]);
    await second.close();
    expect(await first.countOthers()).toBe(0);
  });

  test('every connection has a time limit for statements, except the one that migrates', async () => {
    const config = await server.createDatabase();
    const folder = mkdtempSync(join(tmpdir(), 'signalpost-starts-'));
    const starts: string[] = [];
    const proxy = createServer((client) => {
      const upstream = dial(join(config.host, '.s.PGSQL.5432'));
      client.once('data', (chunk) => starts.push(chunk.toString('latin1')));
      for (const socket of [client, upstream]) socket.on('error', () => {});
      client.pipe(upstream).pipe(client);
    });
    await new Promise<void>((resolve) => proxy.listen(join(folder, '.s.PGSQL.5432'), resolve));
    onTestFinished(() => {
      proxy.close();
      rmSync(folder, { recursive: true, force: true });
    });
    const store = await open({ ...config, host: folder });
    await store.createTenant(aTenant('ten_a'));
    const made: unknown[] = [];
    store.onCommitted((due) => made.push(due));
    await expect.poll(() => made).toHaveLength(1);
    await store.isOnDuty();
    await store.pruneAttempts(0, 10);
    // For migrations, changes, reads, two for nodes, and attempts of a day.
    expect(starts.length).toBeGreaterThan(5);
    expect(starts.map((start) => start.includes('statement_timeout'))).toEqual([
      false,
      ...Array.from({ length: starts.length - 1 }, () => true),
    ]);
  });

  test('announces what a commit makes due, and responds to a probe', async () => {
    const store = await open(await server.createDatabase());
    await store.createTenant(aTenant('ten_a'));
    const made: unknown[] = [];
    store.onCommitted((due) => made.push(due));
    // A node that joins polls once for what others have made due.
    await expect.poll(() => made).toEqual([{ due: [], endpoints: [], sources: true }]);
    made.length = 0;
    await store.createKey(aKey('ten_a', { id: 'key_1' }), 9);
    await store.probe();
    expect(await store.findKey('hash-of-key_1')).toMatchObject({ key: { id: 'key_1' } });
    expect(made).toEqual([]);
  });

  test('reads and writes again without errors after losing its connections', async () => {
    const config = await server.createDatabase();
    const store = await open(config);
    await store.createTenant(aTenant('ten_a'));
    await store.getTenant('ten_a');
    await endConnections(config);
    expect(await store.getTenant('ten_a')).toMatchObject({ id: 'ten_a' });
    await endConnections(config);
    expect(await store.createKey(aKey('ten_a', { id: 'key_1' }), 9)).toBe(true);
  });

  test('shares the connections it has for its reads if the server refuses further ones', async () => {
    const config = { ...(await server.createDatabase()), user: 'limited' };
    const db = await connect({ ...config, user: 'signalpost' });
    onTestFinished(db.close);
    await db.execute(`CREATE ROLE limited LOGIN; ALTER DATABASE ${config.database} OWNER TO limited`);
    const store = await open(config);
    await store.createTenant(aTenant('ten_a'));
    const readAtOnce = (count: number) =>
      Promise.all(Array.from({ length: count }, () => store.getTenant('ten_a')));
    await readAtOnce(2);
    // One for changes, and two for reads.
    await db.execute('ALTER ROLE limited CONNECTION LIMIT 3');
    for (const tenant of await readAtOnce(20)) expect(tenant).toMatchObject({ id: 'ten_a' });
    await endConnections({ ...config, user: 'signalpost' });
    await db.execute('ALTER ROLE limited CONNECTION LIMIT 1');
    for (const tenant of await readAtOnce(20)) expect(tenant).toMatchObject({ id: 'ten_a' });
  });

  test('rejects a node with another master key', async () => {
    const config = await server.createDatabase();
    const proofOf = (byte: number) => createKeyProof(Buffer.alloc(32, byte), `key ${byte}`);
    const first = await openPostgresStore({ config, clock: systemClock, keyProof: proofOf(1) });
    onTestFinished(first.close);
    const second = openPostgresStore({ config, clock: systemClock, keyProof: proofOf(2) });
    await expect(second).rejects.toThrow(
      'The database belongs to another master key than the one in key 2: its secrets cannot be read with this one.',
    );
  });

  test.each([
    [
      { database: 'nowhere' },
      'The PostgreSQL server has no such database. Create it, empty, with ENCODING UTF8, or correct the name in DATABASE_URL.',
    ],
    [
      { port: 1 },
      'The PostgreSQL server cannot be reached (ENOENT). Start it, or correct host and port in DATABASE_URL.',
    ],
    [
      { options: '-c default_transaction_read_only=on' },
      'The PostgreSQL server takes no changes: it is a standby, or read-only. Name the primary in DATABASE_URL. (25006)',
    ],
  ])('reports why it cannot be opened: %o', async (wrong, message) => {
    const config = { ...(await server.createDatabase()), ...wrong };
    await expect(openPostgresStore({ config, clock: systemClock })).rejects.toThrow(message);
  });

  describe('whose connection is lost at COMMIT', () => {
    /** A proxy that closes the connection at the first COMMIT after it is armed. */
    async function startCutter(config: Config) {
      const folder = mkdtempSync(join(tmpdir(), 'signalpost-cutter-'));
      let isArmed: 'before' | 'after' | null = null;
      const sockets = new Set<Socket>();
      const cutter = createServer((client) => {
        const upstream = dial(join(config.host, '.s.PGSQL.5432'));
        let isCut = false;
        for (const socket of [client, upstream]) {
          sockets.add(socket);
          socket.on('error', () => {});
          socket.on('close', () => sockets.delete(socket));
        }
        client.on('data', (chunk) => {
          if (isArmed === null || !chunk.includes('COMMIT\0')) return void upstream.write(chunk);
          isCut = true;
          if (isArmed === 'before') upstream.destroy();
          else upstream.write(chunk);
          if (isArmed === 'before') client.destroy();
          isArmed = null;
        });
        upstream.on('data', (chunk) => (isCut ? client.destroy() : client.write(chunk)));
        client.on('close', () => upstream.destroy());
        upstream.on('close', () => client.destroy());
      });
      await new Promise<void>((resolve) => cutter.listen(join(folder, '.s.PGSQL.5432'), resolve));
      onTestFinished(() => {
        for (const socket of sockets) socket.destroy();
        cutter.close();
        rmSync(folder, { recursive: true, force: true });
      });
      return {
        config: { ...config, host: folder },
        arm: (when: 'before' | 'after') => {
          isArmed = when;
        },
      };
    }

    test.each(['before', 'after'] as const)(
      '%s the server has committed, stores the change once and reports success',
      async (when) => {
        const config = await server.createDatabase();
        const cutter = await startCutter(config);
        const store = await open(cutter.config);
        await store.createTenant(aTenant('ten_a'));
        cutter.arm(when);
        // A second attempt would be rejected, because the ID exists.
        expect(await store.createKey(aKey('ten_a', { id: 'key_1' }), 9)).toBe(true);
        expect(await store.findKey('hash-of-key_1')).toMatchObject({ key: { id: 'key_1' } });
      },
    );

    test('stores the change once if the server closes the connection', async () => {
      const config = await server.createDatabase();
      const store = await open(config);
      await store.createTenant(aTenant('ten_a'));
      const other = await connect(config);
      onTestFinished(other.close);
      // A constraint checked at COMMIT closes the committing connection: the server responds with that instead of the
      // result.
      await other.execute(`
        CREATE FUNCTION end_once() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF nextval('attempts_seen') = 1 THEN
            PERFORM pg_terminate_backend(pg_backend_pid());
          END IF;
          RETURN NULL;
        END $$;
        CREATE SEQUENCE attempts_seen;
        CREATE CONSTRAINT TRIGGER end_once AFTER INSERT ON api_keys DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION end_once();`);
      expect(await store.createKey(aKey('ten_a', { id: 'key_1' }), 9)).toBe(true);
      expect(await store.findKey('hash-of-key_1')).toMatchObject({ key: { id: 'key_1' } });
      const { rows } = await other.ask(
        { name: '', text: 'SELECT last_value FROM attempts_seen', members: null },
        [],
      );
      expect(rows).toEqual([[2]]);
    });
  });
});
