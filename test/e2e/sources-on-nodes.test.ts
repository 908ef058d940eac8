import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as later } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { rss, wanting } from '../detection/harness.ts';
import { createCluster } from '../support/cluster.ts';
import { call, startCountingReceiver } from '../support/counting-receiver.ts';
import { mayLackPostgres, type PostgresServer, startPostgres } from '../support/postgres.ts';

const PATIENCE = { timeout: 90_000, interval: 100 };

describe.skipIf(mayLackPostgres())('a source that two nodes may read', () => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await startPostgres({ max_connections: '40' });
  });
  afterAll(async () => postgres[Symbol.asyncDispose]());

  /** A feed with one post whose responses wait until they are released. */
  async function aSlowFeed() {
    const waiting = new Set<ServerResponse>();
    let asked = 0;
    let mostAtOnce = 0;
    const server = createServer((request, response) => {
      if (request.url !== '/feed.xml') {
        response.writeHead(404).end();
        return;
      }
      asked++;
      waiting.add(response);
      mostAtOnce = Math.max(mostAtOnce, waiting.size);
      response.on('close', () => waiting.delete(response));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed.xml`,
      asked: () => asked,
      waiting: () => waiting.size,
      mostAtOnce: () => mostAtOnce,
      answer() {
        for (const response of waiting) {
          response.setHeader('content-type', 'application/rss+xml');
          response.end(rss([['1', wanting('CRM')]]));
        }
      },
    };
  }

  test('is read by one of them at a time, and by the other one after the first is killed', async () => {
    const { start, key, url } = await createCluster(postgres);
    const [first, feed, receiver] = await Promise.all([start(0), aSlowFeed(), startCountingReceiver()]);
    const { data } = await call(url(0), key, '/v1/webhooks', { url: `${receiver.url}/a` });
    receiver.secrets.set('/a', data.secret);
    const source = { kind: 'rss', name: 'Forum', url: feed.url, interval_seconds: 60 };
    const { id } = (await call(url(0), key, '/v1/sources', source)).data;
    await expect.poll(feed.waiting, PATIENCE).toBe(1);

    // The other node checks for due sources at startup, and when a run is requested.
    await start(1);
    for (const n of [0, 1, 1, 0]) await call(url(n), key, `/v1/sources/${id}/run`, {}).catch(() => {});
    await later(3_000);
    expect([feed.asked(), feed.mostAtOnce()]).toEqual([1, 1]);

    await first.kill();
    await expect.poll(feed.waiting, PATIENCE).toBe(0);
    // A source whose node died rests for a minute, unless a run is requested.
    const takenOver = async () => {
      await call(url(1), key, `/v1/sources/${id}/run`, {}).catch(() => {});
      return feed.waiting();
    };
    await expect.poll(takenOver, { timeout: 90_000, interval: 1_000 }).toBe(1);
    await later(2_000);
    expect([feed.asked(), feed.mostAtOnce()]).toEqual([2, 1]);
    feed.answer();
    await expect.poll(() => receiver.total, PATIENCE).toBe(1);
    const [signals, runs] = await Promise.all([
      call(url(1), key, '/v1/signals'),
      call(url(1), key, `/v1/sources/${id}/runs`),
    ]);
    expect(signals.data).toHaveLength(1);
    expect(runs.data[0]).toMatchObject({ error: null, signals_made: 1 });

    // With both nodes again, however often a run is requested on each.
    await start(0);
    const answering = setInterval(feed.answer, 400);
    onTestFinished(() => clearInterval(answering));
    const before = feed.asked();
    for (let round = 0; round < 10; round++) {
      const run = (n: number) => call(url(n), key, `/v1/sources/${id}/run`, {}).catch(() => {});
      await Promise.all([run(0), run(1)]);
      await later(300);
    }
    await expect.poll(feed.asked, PATIENCE).toBeGreaterThan(before);
    await expect.poll(feed.waiting, PATIENCE).toBe(0);
    expect(feed.mostAtOnce()).toBe(1);
    expect((await call(url(0), key, '/v1/signals')).data).toHaveLength(1);
    expect([receiver.total, receiver.unexpected]).toEqual([1, []]);
  }, 240_000);
});
