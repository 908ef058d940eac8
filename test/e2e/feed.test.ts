import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { call, postSignals } from '../support/counting-receiver.ts';
import { freePort, runCommand, serverEnv, startServerProcess } from '../support/server-process.ts';

const KILLS = 3;
const POSTS = 60;

test('a pulled feed has the same bytes and IDs as the pushed deliveries, across kill -9', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalpost-feed-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const port = await freePort();
  const env = serverEnv(dataDir, port);
  const args = ['tenant', 'create', '--name', 'Feed', '--email', 'f@example.com', '--plan', 'enterprise'];
  const { api_key: key } = JSON.parse(await runCommand([...args, '--json'], env));
  const pushed = await startKeeper();

  let server = await startServerProcess(dataDir, port);
  const target = { url: pushed.url, rate_limit_per_minute: 1_000_000 };
  const push: string = (await call(server.url, key, '/v1/webhooks', target)).data.id;
  const pull: string = (await call(server.url, key, '/v1/webhooks', { mode: 'pull' })).data.id;

  const feeds = { [push]: startReader(push), [pull]: startReader(pull) };
  for (let round = 0; round < KILLS; round++) {
    const posts = Array.from({ length: POSTS }, (_, i) => `https://forum.example/${round}/${i}`);
    // Everything accepted must appear; interrupted requests need not.
    const posted = Promise.allSettled([
      postSignals(server.url, key, posts.slice(POSTS / 2)),
      postSignals(server.url, key, posts.slice(0, POSTS / 2)),
    ]);
    await pushed.afterMore(5 + round * 7);
    await feeds[push]?.readAll(server.url, key, 1);
    await server.kill();
    await posted;
    server = await startServerProcess(dataDir, port);
  }
  for (const feed of Object.values(feeds)) await feed.readAll(server.url, key, Number.POSITIVE_INFINITY);
  await pushed.until((bodies) => [...(feeds[push]?.texts.keys() ?? [])].every((id) => bodies.has(id)));
  expect(await server.terminate()).toBe(0);

  expect(pushed.bodies.size).toBeGreaterThan(KILLS * 5);
  expect(Object.fromEntries(feeds[push]?.texts ?? [])).toEqual(Object.fromEntries(pushed.bodies));
  // Each endpoint signs with its own secret.
  const unsigned = (id: string) =>
    [...(feeds[id]?.texts.values() ?? [])].map((text) => text.replace(/"signature":"[0-9a-f]{64}"\}$/, ''));
  expect(unsigned(pull)).toEqual(unsigned(push));
  expect(feeds[push]?.repeated).toEqual([]);
}, 120_000);

/** Follows a feed by its cursor, and records the text of each payload. */
function startReader(id: string) {
  const texts = new Map<string, string>();
  const repeated: string[] = [];
  let cursor: string | null = null;
  return {
    texts,
    repeated,
    async readAll(url: string, key: string, most: number) {
      for (let pages = 0; pages < most; pages++) {
        const query = cursor === null ? '' : `&cursor=${cursor}`;
        const answer = await fetch(`${url}/v1/webhooks/${id}/feed?limit=7${query}`, {
          headers: { authorization: `Bearer ${key}` },
        });
        const text = await answer.text();
        const { data, pagination } = JSON.parse(text);
        for (const event of data) {
          if (texts.has(event.id)) repeated.push(event.id);
          texts.set(event.id, payloadIn(text, event.id));
        }
        cursor = pagination.next_cursor;
        if (!pagination.has_more) return;
      }
    },
  };
}

/** The bytes of a payload within a page, up to the closing brace of its event. */
function payloadIn(page: string, id: string): string {
  const begin = page.indexOf('"payload":', page.indexOf(`{"id":"${id}"`)) + '"payload":'.length;
  const end = page.slice(begin).search(/"signature":"[0-9a-f]{64}"\}/);
  return page.slice(begin, begin + end + '"signature":""}'.length + 64);
}

/** Records the body of each delivery by its ID, and reports an ID with two different bodies. */
async function startKeeper() {
  const bodies = new Map<string, string>();
  let total = 0;
  let changed = () => {};
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const id = String(request.headers['webhook-id']);
      const body = Buffer.concat(chunks).toString('utf8');
      bodies.set(id, bodies.has(id) && bodies.get(id) !== body ? 'two bodies' : body);
      total++;
      changed();
      response.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const until = (isSo: () => boolean) =>
    new Promise<void>((resolve) => {
      changed = () => isSo() && resolve();
      changed();
    });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    bodies,
    afterMore(count: number) {
      const enough = total + count;
      return until(() => total >= enough);
    },
    until: (isSo: (kept: Map<string, string>) => boolean) => until(() => isSo(bodies)),
  };
}
