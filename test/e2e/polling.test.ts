import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { call } from '../support/counting-receiver.ts';
import { freePort, runCommand, serverEnv, startServerProcess } from '../support/server-process.ts';

const WRITERS = 8;
/** The product guarantees 500 with `auto`, which takes minutes. */
const BATCH = Number(process.env.POLLING_BATCH ?? 40);
const ENCODER = process.env.POLLING_ENCODER ?? 'off';
const BATCHES_OF_EACH = Number(process.env.POLLING_BATCHES ?? 3);
/** The time limit of one request, including its retries. */
const PATIENCE_MS = 600_000;
const POSTS = WRITERS * BATCHES_OF_EACH * BATCH;

const WANTS = ['a new CRM', 'a plumber', 'fleet software', 'a payroll provider', 'invoicing that works'];

function aBatch(writer: number, n: number) {
  return Array.from({ length: BATCH }, (_, i) => ({
    platform: { name: 'forum', post_url: `https://forum.example/${writer}/${n}/${i}` },
    external_id: `${writer}-${n}-${i}`,
    text: `Team ${writer} of ${n * BATCH + i} people looks for ${WANTS[i % WANTS.length]}. Budget approved, who can recommend one?`,
  }));
}

test('with eight writers of batches and kill -9, a poller misses nothing and gets nothing twice', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalpost-polling-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const port = await freePort();
  const env = { SIGNAL_ENCODER: ENCODER };
  const { api_key: key } = JSON.parse(
    await runCommand(
      ['tenant', 'create', '--name', 'Poll', '--email', 'poll@example.com', '--plan', 'enterprise', '--json'],
      serverEnv(dataDir, port),
    ),
  );
  let server = await startServerProcess(dataDir, port, env);
  onTestFinished(() => server.kill());
  let isUp = Promise.resolve();

  /** Retries a request if the server was killed or is overloaded. */
  async function insist(path: string, body?: unknown) {
    const since = performance.now();
    while (performance.now() - since < PATIENCE_MS) {
      await isUp;
      try {
        return await call(server.url, key, path, body);
      } catch (error) {
        if (!/fetch failed|terminated|answered (429|503)/.test(String(error))) throw error;
        // Batches of the guaranteed size wait for the encoder one after the other: minutes for eight writers.
        await pause(String(error).includes('answered') ? 1_000 : 100);
      }
    }
    throw new Error(`${path} was not answered`);
  }

  const seen: string[] = [];
  const half = Promise.withResolvers<void>();
  let cursor = '';
  let polls = 0;
  async function poll(seconds: number): Promise<boolean> {
    const { data, pagination } = await insist(
      `/v1/signals?order=stored&limit=100&wait=${seconds}${cursor === '' ? '' : `&cursor=${cursor}`}`,
    );
    polls++;
    seen.push(...data.map((signal: { signal_id: string }) => signal.signal_id));
    cursor = pagination.next_cursor;
    if (seen.length > POSTS / 3) half.resolve();
    return pagination.has_more;
  }

  const made = new Set<string>();
  const slowest: number[] = [];
  async function write(writer: number) {
    for (let n = 0; n < BATCHES_OF_EACH; n++) {
      const since = performance.now();
      const { data } = await insist('/v1/signals/batch', { signals: aBatch(writer, n) });
      slowest.push(performance.now() - since);
      for (const { signal_ids: ids } of data.results) for (const id of ids) made.add(id);
    }
  }

  async function killInTheMiddle() {
    await half.promise;
    const again = Promise.withResolvers<void>();
    isUp = again.promise;
    await server.kill();
    server = await startServerProcess(dataDir, port, env);
    again.resolve();
  }

  const since = performance.now();
  let writing = true;
  const polling = (async () => {
    while (writing) await poll(5);
    while (await poll(0));
  })();
  await Promise.all([killInTheMiddle(), ...Array.from({ length: WRITERS }, (_, writer) => write(writer))]);
  writing = false;
  await polling;
  const seconds = (performance.now() - since) / 1_000;

  const polled = [...seen];
  expect(new Set(polled).size).toBe(polled.length);
  const gotten = new Set(polled);
  expect([...made].filter((id) => !gotten.has(id))).toEqual([]);
  seen.length = 0;
  cursor = '';
  while (await poll(0));
  expect(polled).toEqual(seen);
  expect(await server.terminate()).toBe(0);
  if (process.env.POLLING_BATCH === undefined) return;
  console.log(
    `${POSTS} posts in ${seconds.toFixed(1)} s, ${polled.length} signals polled in ${polls} requests, slowest batch ${(Math.max(...slowest) / 1_000).toFixed(1)} s`,
  );
}, 900_000);
