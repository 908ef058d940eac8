import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { Pool } from 'undici';
import { newKey } from '../../src/accounts/keys.ts';
import { createTenant } from '../../src/accounts/tenants.ts';
import { buildApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { prepareEngine } from '../../src/engine.ts';
import { SCOPES } from '../../src/model/key.ts';
import { openRuntime } from '../../src/runtime.ts';
import { loadSiteContent } from '../../src/site/content/site-content.ts';
import { createPosts } from './posts.ts';

export interface IngestRound {
  batches: number;
  posts: number;
  /** Concurrent batches. */
  inFlight: number;
  seed: number;
}

/** `file` is the resulting database, which is kept until the next round. */
export interface Ingested {
  perSecond: number;
  file: string;
}

const WARM_UP_BATCHES = 4;

// Our side: the app over HTTP on a database file with FULL durability, a new one for each round.
let folder = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
prepareEngine(); // as the server does
process.on('message', (round: IngestRound) => {
  rmSync(folder, { recursive: true, force: true });
  folder = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  void run(round).then((ingested) => process.send?.(ingested));
});
process.on('disconnect', () => {
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
});
process.send?.('ready');

async function run({ batches, posts, inFlight, seed }: IngestRound): Promise<Ingested> {
  const server = await openServer();
  const pool = new Pool(server.url, { connections: inFlight });
  const makePost = createPosts(seed + 100);
  const bodies = Array.from({ length: WARM_UP_BATCHES + batches }, (_, batch) =>
    JSON.stringify({ signals: Array.from({ length: posts }, (_, i) => makePost(batch * posts + i)) }),
  );
  for (const body of bodies.slice(0, WARM_UP_BATCHES)) await send(pool, server.apiKey, { body, posts });

  const rest = bodies.slice(WARM_UP_BATCHES).values();
  const work = async () => {
    for (const body of rest) await send(pool, server.apiKey, { body, posts });
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: inFlight }, work));
  const seconds = (performance.now() - started) / 1_000;
  await pool.close();
  await server.close();
  return { perSecond: (batches * posts) / seconds, file: join(folder, 'signalpost.db') };
}

async function send(pool: Pool, apiKey: string, batch: { body: string; posts: number }): Promise<void> {
  const { statusCode, body } = await pool.request({
    method: 'POST',
    path: '/v1/signals/batch',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: batch.body,
  });
  const answer = (await body.json()) as { data?: { created: number } };
  if (statusCode !== 200 || answer.data?.created !== batch.posts) {
    throw new Error(
      `a batch got a response with status ${statusCode}: ${JSON.stringify(answer).slice(0, 200)}`,
    );
  }
}

async function openServer() {
  const config = loadConfig({ DATA_DIR: folder });
  // Log lines are created as in production, and discarded.
  const logger = pino({ level: 'info' }, new Writable({ write: (_chunk, _encoding, done) => done() }));
  const runtime = await openRuntime(config, { writerThread: true, logger });
  const { tenant } = await createTenant(runtime, {
    name: 'Bench',
    email: 'bench@example.com',
    plan: 'enterprise',
  });
  const made = newKey(runtime, {
    tenantId: tenant.id,
    name: 'Bench',
    scopes: [...SCOPES],
    rateLimit: 1_000_000,
  });
  await runtime.store.createKey(made.key, 100);
  const app = buildApp({
    ...runtime,
    content: await loadSiteContent(config),
    sendTest: () => Promise.reject(new Error('there is no dispatcher here')),
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    url,
    apiKey: made.apiKey,
    async close() {
      await app.close();
      await runtime.close();
    },
  };
}
