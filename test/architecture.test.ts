import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createTenant } from '../src/accounts/tenants.ts';
import { loadConfig } from '../src/config.ts';
import { webhookInputSchema } from '../src/model/webhook.ts';
import { openRuntime, startServer } from '../src/runtime.ts';
import { createEndpoint } from '../src/webhooks/endpoints.ts';
import { createFakeEncoder } from './support/fake-encoder.ts';
import { startReceiver } from './support/receiver.ts';
import { aSite } from './support/site-content.ts';

const SRC = fileURLToPath(new URL('../src/', import.meta.url));

/** A step of a documented code path: its file, and its function if one is named. */
interface Hop {
  file: string;
  fn: string | null;
}

function hopsOf(way: string): Hop[] {
  const text = readFileSync('docs/architecture.md', 'utf8');
  const section = text.split(`\n## ${way}\n`)[1]?.split('\n## ')[0] ?? '';
  const steps =
    section
      .trim()
      .split('\n\n')[0]
      ?.split(/^\d+\. /m)
      .slice(1) ?? [];
  return steps.flatMap((step) =>
    [...step.matchAll(/`([\w/-]+\.ts)`(?:, `(\w+)`)?/g)]
      .filter(([, file = '']) => !file.startsWith('model/'))
      .map(([, file = '', fn = null]) => ({ file, fn })),
  );
}

/** Names of the functions called while `work` runs, by file; methods and unnamed functions are ''. */
async function callsOf(work: () => Promise<unknown>): Promise<Map<string, Set<string>>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await session.post('Profiler.takePreciseCoverage'); // starts counting
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  const calls = new Map<string, Set<string>>();
  for (const { url, functions } of result) {
    if (!url.includes('/src/')) continue;
    const file = relative(SRC, url.startsWith('file:') ? fileURLToPath(url) : url);
    const called = functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
    if (called.length > 0) calls.set(file, new Set(called.map(({ functionName }) => functionName)));
  }
  return calls;
}

test('the documented code paths match the calls that one post and its delivery make', async () => {
  const receiver = await startReceiver();
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-ways-'));
  const config = loadConfig({
    ...{ DATA_DIR: folder, PORT: '0', SIGNAL_ENCODER: 'off' },
    ...{ WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8', BASE_URL: 'http://127.0.0.1' },
  });
  const runtime = await openRuntime(config, { logger: pino({ level: 'silent' }) });
  const { store } = runtime;
  const { tenant, apiKey } = await createTenant(runtime, {
    name: 'Acme',
    email: 'a@example.com',
    plan: 'pro',
  });
  const { endpoint } = await createEndpoint(runtime, tenant, webhookInputSchema.parse({ url: receiver.url }));
  const server = await startServer({ ...runtime, encoder: createFakeEncoder() }, aSite());
  onTestFinished(async () => {
    await server.stop();
    await receiver.close();
    rmSync(folder, { recursive: true });
  });

  const calls = await callsOf(async () => {
    const answer = await fetch(`${server.url}/v1/signals`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': 'one',
      },
      body: JSON.stringify({
        text: 'We need a new CRM this month.',
        platform: { name: 'forum', post_url: 'https://forum.example/1' },
      }),
    });
    expect(answer.status).toBe(201);
    await receiver.received(1);
    await expect.poll(() => store.countWaiting(endpoint.id, 1)).toBe(0);
  });
  for (const way of ['A post comes in', 'A delivery goes out']) {
    const missed = hopsOf(way).filter(({ file, fn }) => {
      const called = calls.get(file);
      return called === undefined || (fn !== null && !called.has(fn));
    });
    expect(missed, `${way}: documented, and not called`).toEqual([]);
  }
});
