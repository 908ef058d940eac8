import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { copyStore } from '../../src/store/copy/copy-store.ts';
import { temporaryFolder } from '../cli/process.ts';
import { createCluster } from '../support/cluster.ts';
import { call, postSignals, startCountingReceiver } from '../support/counting-receiver.ts';
import { connected, makeFullStore } from '../support/full-store.ts';
import { databaseUrl, mayLackPostgres, type PostgresServer, startPostgres } from '../support/postgres.ts';

// As docs/operation/several-nodes.md says, "Backup and restore".
describe.skipIf(mayLackPostgres())('a dump of PostgreSQL', () => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await startPostgres({ max_connections: '40' });
  });
  afterAll(async () => postgres[Symbol.asyncDispose]());

  async function dumpAndRestore(url: string): Promise<string> {
    using folder = temporaryFolder();
    const file = join(folder.path, 'signalpost.dump');
    postgres.runProgram('pg_dump', ['--format=custom', `--file=${file}`, url]);
    const restored = databaseUrl(await postgres.createDatabase('template0'));
    postgres.runProgram('pg_restore', ['--no-owner', '--exit-on-error', `--dbname=${restored}`, file]);
    return restored;
  }

  /** The row count and a hash of each table, and the position of each sequence. */
  async function contentsOf(url: string): Promise<Record<string, string>> {
    return connected(url, async (db) => {
      const ask = async (text: string) => (await db.ask({ name: '', text, members: null }, [])).rows;
      const tables = await ask(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1",
      );
      const contents: Record<string, string> = {};
      for (const [name] of tables) {
        const [[count, hash] = []] = await ask(
          `SELECT count(*), md5(string_agg(t::text, chr(10) ORDER BY t::text COLLATE "C")) FROM "${name}" t`,
        );
        contents[String(name)] = `${count} ${hash}`;
      }
      const sequences = await ask('SELECT sequencename, last_value FROM pg_sequences ORDER BY 1');
      for (const [name, value] of sequences) contents[`sequence ${name}`] = String(value);
      return contents;
    });
  }

  test('contains every row of every table, and the positions of sequences', async () => {
    using folder = temporaryFolder();
    const { file } = await makeFullStore(join(folder.path, 'signalpost.db'));
    const from = databaseUrl(await postgres.createDatabase());
    expect((await copyStore({ file, to: from, onProgress: () => {} })).isCopied).toBe(true);
    const contents = await contentsOf(from);
    expect(Object.keys(contents).length).toBeGreaterThan(40);
    expect(await contentsOf(await dumpAndRestore(from))).toEqual(contents);
  });

  test('of a running node is continued by another: pending deliveries are sent, and completed ones are not', async () => {
    const { start, key, url, env } = await createCluster(postgres);
    let isDown = false;
    const receiver = await startCountingReceiver((response) => {
      response.statusCode = isDown ? 503 : 200;
      // Nothing is retried before the dump is restored, however slow this machine is.
      if (isDown) response.setHeader('retry-after', '25');
      response.end();
    });
    const node = await start(0);
    const target = { url: `${receiver.url}/a`, rate_limit_per_minute: 1_000_000 };
    receiver.secrets.set('/a', (await call(url(0), key, '/v1/webhooks', target)).data.secret);
    const urls = (prefix: string) =>
      Array.from({ length: 20 }, (_, n) => `https://forum.example/${prefix}/${n}`);
    await postSignals(url(0), key, urls('sent'));
    await receiver.until(() => receiver.counts.size === 20);
    const delivered = () => call(url(0), key, '/v1/deliveries?status=delivered&limit=100');
    await expect.poll(async () => (await delivered()).data.length).toBe(20);
    isDown = true;
    // Too few to pause an endpoint.
    await postSignals(url(0), key, urls('waits').slice(0, 10));
    await receiver.until(() => receiver.counts.size === 30);
    const { pagination } = await call(url(0), key, '/v1/signals?order=stored&limit=25');

    const restored = await dumpAndRestore(env.DATABASE_URL);
    await node.kill();
    isDown = false;
    const before = receiver.total;
    await start(1, { DATABASE_URL: restored });
    const at = url(1);
    await receiver.until(() => receiver.total === before + 10, 60_000);
    expect([...receiver.counts.values()]).toEqual([...Array(20).fill(1), ...Array(10).fill(2)]);
    expect(receiver.unexpected).toEqual([]);
    // A client continues from its cursor, and finds new events after it.
    await postSignals(at, key, urls('new'));
    const next = `/v1/signals?order=stored&limit=100&cursor=${pagination.next_cursor}`;
    const read: { platform: { post_url: string } }[] = (await call(at, key, next)).data;
    expect(read.map(({ platform }) => platform.post_url).sort()).toEqual(
      [...urls('waits').slice(5, 10), ...urls('new')].sort(),
    );
    await receiver.until(() => receiver.counts.size === 50);
    expect(receiver.total).toBe(before + 10 + 20);
  }, 240_000);
});
