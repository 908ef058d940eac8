import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/store/postgres/connection.ts';
import { createCluster } from '../support/cluster.ts';
import { call, postSignals, startCountingReceiver } from '../support/counting-receiver.ts';
import { mayLackPostgres, type PostgresServer, startPostgres } from '../support/postgres.ts';

describe.skipIf(mayLackPostgres())('an unreachable PostgreSQL server', () => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    // Commits must survive a restart, as on a production server.
    postgres = await startPostgres({ synchronous_commit: 'on', max_connections: '60' });
  });
  afterAll(async () => postgres[Symbol.asyncDispose]());

  /** The status of the response, and whether it has `Retry-After`; null if there was none. */
  const statusOf = (url: string, key = '') =>
    fetch(url, { headers: { authorization: `Bearer ${key}` } }).then(
      (response) => [response.status, Number(response.headers.get('retry-after')) > 0],
      () => null,
    );
  const IN_TIME = { timeout: 30_000 };

  /** Nodes that start now listen, but cannot continue: the attempts of the last minute are locked. */
  async function holdDeliveries(config: Parameters<typeof connect>[0]): Promise<void> {
    const db = await connect({ ...config, idle_in_transaction_session_timeout: 0 });
    onTestFinished(() => db.close());
    await db.execute('BEGIN; LOCK TABLE attempts IN ACCESS EXCLUSIVE MODE');
  }

  test('at startup or later is waited for with 503', async () => {
    const { start, key, url } = await createCluster(postgres);
    await postgres.stop();
    const starting = start(0);
    const profiles = () => statusOf(`${url(0)}/v1/icps`, key);
    await expect.poll(profiles, { timeout: 60_000 }).toEqual([503, true]);
    expect(await statusOf(`${url(0)}/ready`)).toEqual([503, true]);
    await postgres.start();
    await starting;
    await expect.poll(profiles, IN_TIME).toEqual([200, false]);

    await postgres.stop();
    // A kept-alive connection may have been closed in the meantime.
    await expect.poll(profiles, IN_TIME).toEqual([503, true]);
    expect(await statusOf(`${url(0)}/ready`)).toEqual([503, true]);
    await postgres.start();
    await expect.poll(() => statusOf(`${url(0)}/ready`), IN_TIME).toEqual([200, false]);
    expect((await call(url(0), key, '/v1/icps')).data).toHaveLength(1);
  }, 180_000);

  test('between the first request and the first delivery ends no node, and deliveries start afterwards', async () => {
    const { start, key, url, config } = await createCluster(postgres);
    await holdDeliveries(config);
    const node = await start(0);
    expect(await statusOf(`${url(0)}/ready`)).toEqual([503, true]);
    await postgres.stop();
    await expect.poll(() => statusOf(`${url(0)}/v1/icps`, key), IN_TIME).toEqual([503, true]);
    await postgres.start();
    await expect.poll(() => statusOf(`${url(0)}/ready`), IN_TIME).toEqual([200, false]);

    const receiver = await startCountingReceiver();
    const { data } = await call(url(0), key, '/v1/webhooks', { url: `${receiver.url}/a` });
    receiver.secrets.set('/a', data.secret);
    await postSignals(url(0), key, ['https://forum.example/outage/1']);
    await receiver.until(() => receiver.total === 1);
    expect([receiver.total, node.hasEnded()]).toEqual([1, false]);
    expect(await node.terminate()).toBe(0);
  }, 180_000);

  test('that does not close its connections is given up on after half a minute', async () => {
    const { start, key, url } = await createCluster(postgres);
    const node = await start(0);
    const profiles = () => statusOf(`${url(0)}/v1/icps`, key);
    await expect.poll(profiles, IN_TIME).toEqual([200, false]);
    await expect.poll(() => statusOf(`${url(0)}/ready`), IN_TIME).toEqual([200, false]);
    const suspended = postgres.processes();
    for (const pid of suspended) process.kill(pid, 'SIGSTOP');
    try {
      // Once the connection is given up, no new one is answered either.
      expect(await profiles()).toEqual([503, true]);
      expect(await profiles()).toEqual([503, true]);
    } finally {
      for (const pid of suspended) process.kill(pid, 'SIGCONT');
    }
    await expect.poll(profiles, IN_TIME).toEqual([200, false]);
    await expect.poll(() => statusOf(`${url(0)}/ready`), { timeout: 60_000 }).toEqual([200, false]);
    expect(node.hasEnded()).toBe(false);
  }, 180_000);

  test('does not prevent a node from stopping before its deliveries have started', async () => {
    const { start, key, url, config } = await createCluster(postgres);
    await holdDeliveries(config);
    const node = await start(0);
    await postgres.stop();
    try {
      await expect.poll(() => statusOf(`${url(0)}/v1/icps`, key), IN_TIME).toEqual([503, true]);
      expect(await node.terminate()).toBe(0);
    } finally {
      await postgres.start();
    }
  }, 180_000);
});
