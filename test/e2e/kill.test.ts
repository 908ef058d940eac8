import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { call, postSignals, startCountingReceiver } from '../support/counting-receiver.ts';
import { freePort, runCommand, serverEnv, startServerProcess } from '../support/server-process.ts';

const KILLS = 20;
const ENDPOINTS = 10;
/**
 * With 10 endpoints each: 2,000 deliveries in every other round, and 400 in between, in addition to remaining ones.
 */
const POSTS = [200, 40];
const POSTS_IN_ALL = (KILLS / 2) * (200 + 40);
const PARTS = 4;
const IN_FLIGHT_PER_ENDPOINT = 20;
/**
 * Long enough that every endpoint has twenty requests in flight when the server is killed, even on a slow machine.
 */
const ANSWER_AFTER_MS = 100;

test('kill -9 during 2,000 deliveries with 200 in flight, twenty times, loses no accepted delivery', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalpost-kill-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const port = await freePort();
  const receiver = await startCountingReceiver((response) =>
    setTimeout(() => response.end(), ANSWER_AFTER_MS),
  );
  const { api_key: key } = JSON.parse(
    await runCommand(
      ['tenant', 'create', '--name', 'Kill', '--email', 'kill@example.com', '--plan', 'enterprise', '--json'],
      serverEnv(dataDir, port),
    ),
  );

  let server = await startServerProcess(dataDir, port);
  for (let i = 0; i < ENDPOINTS; i++) {
    const path = `/${i}`;
    const target = { url: `${receiver.url}${path}`, rate_limit_per_minute: 1_000_000 };
    receiver.secrets.set(path, (await call(server.url, key, '/v1/webhooks', target)).data.secret);
  }

  const accepted = new Set<string>();
  for (let round = 0; round < KILLS; round++) {
    // In the middle, at a different position each time; a prime step keeps the positions apart.
    const killed = receiver.afterMore(250 + ((round * 577) % (postsOf(round) * 7))).then(() => server.kill());
    const batches = Array.from({ length: PARTS }, (_, part) => urlsOf(round, part));
    const posted = await Promise.allSettled(batches.map((urls) => postSignals(server.url, key, urls)));
    for (const [part, { status }] of posted.entries()) {
      if (status === 'fulfilled') for (const url of batches[part] ?? []) accepted.add(url);
    }
    await killed;
    server = await startServerProcess(dataDir, port);
  }
  const expected = [...accepted].flatMap((url) =>
    Array.from({ length: ENDPOINTS }, (_, i) => `/${i} ${url}`),
  );
  await receiver.until(() => expected.every((item) => receiver.counts.has(item)));
  expect(await server.terminate()).toBe(0);

  const lost = expected.filter((item) => !receiver.counts.has(item));
  const duplicates = [...receiver.counts.values()].reduce((sum, count) => sum + count - 1, 0);
  expect(lost).toEqual([]);
  expect(receiver.unexpected).toEqual([]);
  expect(accepted.size).toBeGreaterThan(POSTS_IN_ALL / 2);
  expect(receiver.mostAtOnce).toBeGreaterThanOrEqual(200);
  // Only deliveries in flight at a kill are repeated: sent, or answered and not yet committed.
  expect(duplicates).toBeLessThanOrEqual(KILLS * ENDPOINTS * IN_FLIGHT_PER_ENDPOINT);
}, 600_000);

const postsOf = (round: number) => POSTS[round % POSTS.length] ?? 0;

function urlsOf(round: number, part: number): string[] {
  const size = postsOf(round) / PARTS;
  return Array.from({ length: size }, (_, i) => `https://forum.example/${round}/${part * size + i}`);
}
