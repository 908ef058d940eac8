import { setTimeout as later } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCluster } from '../support/cluster.ts';
import { call, postSignals, startCountingReceiver } from '../support/counting-receiver.ts';
import { mayLackPostgres, type PostgresServer, startPostgres } from '../support/postgres.ts';

const IN_FLIGHT_PER_ENDPOINT = 20;
const ANSWER_AFTER_MS = 200;

describe.skipIf(mayLackPostgres())('several nodes on one PostgreSQL database', () => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    // Commits must survive a restart, as on a production server.
    postgres = await startPostgres({ synchronous_commit: 'on', max_connections: '60' });
  });
  afterAll(async () => postgres[Symbol.asyncDispose]());

  const urls = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, n) => `https://forum.example/${prefix}/${n}`);

  /** Posts until a node has stored it: a known post is stored. */
  async function postAnywhere(
    nodes: readonly string[],
    key: string,
    posts: readonly string[],
  ): Promise<void> {
    const signals = posts.map((post_url) => ({
      platform: { name: 'forum', post_url },
      text: 'We need a new plumber.',
    }));
    for (let tries = 0; ; tries++) {
      const node = nodes[tries % nodes.length] ?? '';
      const { data } = await call(node, key, '/v1/signals/batch', { signals }).catch(
        async (error: unknown) => {
          if (tries > 200) throw error;
          await later(250);
          return { data: null };
        },
      );
      if (data !== null && data.created + data.duplicates === posts.length) return;
    }
  }

  test('under load, with nodes and PostgreSQL killed and restarted, nothing is lost, and only attempts in flight are repeated', async () => {
    const { start, key, url } = await createCluster(postgres);
    const nodes = await Promise.all([start(0), start(1), start(2)]);
    const receiver = await startCountingReceiver((response) => setTimeout(() => response.end(), 20));
    const paths = ['/a', '/b', '/c', '/d'];
    for (const path of paths) {
      const target = { url: `${receiver.url}${path}`, rate_limit_per_minute: 1_000_000 };
      receiver.secrets.set(path, (await call(url(0), key, '/v1/webhooks', target)).data.secret);
    }

    const batches = 60;
    let sent = 0;
    async function load(): Promise<void> {
      while (sent < batches) {
        const batch = sent++;
        const turn = batch % 3;
        await postAnywhere(
          [url(turn), url((turn + 1) % 3), url((turn + 2) % 3)],
          key,
          urls(`load${batch}`, 10),
        );
      }
    }
    const loading = Promise.all([load(), load(), load()]);
    let killed = 0;
    async function killAndStart(n: number): Promise<void> {
      await nodes[n]?.kill();
      killed++;
      nodes[n] = await start(n);
    }
    await receiver.until(() => receiver.total > 200);
    await killAndStart(1);
    await postgres.stop();
    await later(1_500);
    await postgres.start();
    await killAndStart(2);
    await loading;
    const wanted = batches * 10 * paths.length;
    await receiver.until(() => receiver.counts.size === wanted, 60_000);
    expect(receiver.counts.size).toBe(wanted);
    expect(receiver.total).toBeLessThanOrEqual(wanted + killed * paths.length * IN_FLIGHT_PER_ENDPOINT);
    expect(receiver.unexpected).toEqual([]);
  }, 240_000);

  test('limits, throttle and pause apply to all nodes together, and a suspended node sends nothing that was taken over', async () => {
    const { start, key, ask, url } = await createCluster(postgres);
    const nodes = await Promise.all([start(0), start(1), start(2)]);
    await expectSharedLimit(key, url);
    await expectSharedTries(url);

    const arrivals: number[] = [];
    const receiver = await startCountingReceiver((response) =>
      setTimeout(() => response.end(), ANSWER_AFTER_MS),
    );
    const slow = await startCountingReceiver((response) => {
      arrivals.push(performance.now());
      response.end();
    });
    const failing = await startCountingReceiver((response) => {
      response.statusCode = 500;
      response.end();
    });
    const subscribe = async (at: typeof receiver, path: string, more: object) => {
      const { data } = await call(url(0), key, '/v1/webhooks', { url: `${at.url}${path}`, ...more });
      at.secrets.set(path, data.secret);
      return data.id as string;
    };
    await subscribe(receiver, '/still', { rate_limit_per_minute: 1_000_000 });
    await subscribe(slow, '/slow', { rate_limit_per_minute: 60 });
    const broken = await subscribe(failing, '/broken', { rate_limit_per_minute: 1_000_000, max_retries: 1 });

    // The first posts go to one node, which then holds the leases: posts stored by others reach it soon.
    await postSignals(url(0), key, urls('first', 10));
    await receiver.until(() => receiver.total === 10 && slow.total === 10);
    const since = performance.now();
    await postSignals(url(1), key, urls('second', 10));
    await receiver.until(() => receiver.total === 20 && slow.total === 20);
    expect(performance.now() - since).toBeLessThan(5_000);
    await Promise.all([1, 2].map((n) => postSignals(url(n), key, urls(`more${n}`, 20))));
    await slow.until(() => slow.total === 60);
    await failing.until(() => failing.total >= 20);

    await postSignals(url(0), key, urls('held', 60));
    nodes[0]?.freeze();
    const stopped = performance.now();
    const all = 20 + 40 + 60;
    await receiver.until(() => receiver.counts.size === all, 60_000);
    expect(receiver.counts.size).toBe(all);
    await later(Math.max(0, 40_000 - (performance.now() - stopped)));
    const whenThawed = receiver.total;
    nodes[0]?.thaw();
    await later(6_000);
    expect([receiver.counts.size, receiver.total]).toEqual([all, whenThawed]);
    expect(receiver.total).toBeLessThanOrEqual(all + IN_FLIGHT_PER_ENDPOINT);
    await postSignals(url(0), key, urls('after', 5));
    await receiver.until(() => receiver.counts.size === all + 5);
    expect(receiver.counts.size).toBe(all + 5);

    expect((await call(url(2), key, `/v1/webhooks/${broken}`)).data.status).toBe('paused');
    expect(await ask("SELECT count(*) FROM mail_outbox WHERE kind = 'endpoint_paused'")).toEqual([[1]]);

    // Throttled deliveries arrive when the minute of the first ones is over.
    await slow.until(() => slow.counts.size > 70, 60_000);
    expect(slow.counts.size).toBeGreaterThan(70);
    for (const [index, at] of arrivals.entries()) {
      const sixtieth = arrivals[index + 60];
      if (sixtieth !== undefined) expect(sixtieth - at).toBeGreaterThanOrEqual(60_000);
    }
  }, 240_000);

  /**
   * A key's limit is shared by all nodes, except for requests that others admitted in the last tenth of a second;
   * revocation is immediate.
   */
  async function expectSharedLimit(key: string, url: (n: number) => string): Promise<void> {
    const limited = { name: 'limited', scopes: ['signals:read'], rate_limit: 60 };
    const { id, api_key: other } = (await call(url(0), key, '/v1/keys', limited)).data;
    const statusAt = async (n: number) =>
      (await fetch(`${url(n)}/v1/signals`, { headers: { authorization: `Bearer ${other}` } })).status;
    let passed = 0;
    for (let asked = 0; asked < 120; asked++) if ((await statusAt(asked % 3)) === 200) passed++;
    expect(passed).toBeGreaterThanOrEqual(60);
    expect(passed).toBeLessThanOrEqual(60 + 45);
    const revoked = await fetch(`${url(1)}/v1/keys/${id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${key}` },
    });
    expect(revoked.ok).toBe(true);
    expect(await statusAt(2)).toBe(401);
  }

  /** Five wrong passwords are enough, whichever node each was tried at. */
  async function expectSharedTries(url: (n: number) => string): Promise<void> {
    async function statusOfLogIn(n: number): Promise<number> {
      const form = await fetch(`${url(n)}/dashboard/login`);
      const [, token = ''] = /name="_csrf" value="([^"]+)"/.exec(await form.text()) ?? [];
      const cookie = form.headers.getSetCookie().map((line) => line.split(';')[0]);
      const body = new URLSearchParams({
        _csrf: token,
        email: 'n@example.com',
        password: 'not the password',
      });
      const headers = { cookie: cookie.join('; ') };
      return (await fetch(`${url(n)}/dashboard/login`, { method: 'POST', headers, body })).status;
    }
    for (let tried = 0; tried < 5; tried++) expect(await statusOfLogIn(tried % 3)).toBe(401);
    await later(2_000);
    for (const n of [0, 1, 2]) expect(await statusOfLogIn(n)).toBe(429);
  }
});
