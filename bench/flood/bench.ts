import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { newKey } from '../../src/accounts/keys.ts';
import { createTenant } from '../../src/accounts/tenants.ts';
import { loadConfig } from '../../src/config.ts';
import { SCOPES } from '../../src/model/key.ts';
import { webhookInputSchema } from '../../src/model/webhook.ts';
import { openRuntime } from '../../src/runtime.ts';
import { observePosts } from '../../src/signals/intake.ts';
import { createEndpoint } from '../../src/webhooks/endpoints.ts';
import { startChild } from '../child.ts';
import { samplePost } from '../dispatch/setting.ts';
import { type Figure, percentile } from '../report.ts';
import { createLoadClient } from '../signals/load-client.ts';
import { startServer } from '../site/server.ts';

const DELIVERIES = 100_000;
const ENDPOINTS = 50;
const CONNECTIONS = 4;
/** How long a server is observed if its receivers never respond. */
const STALLED_MS = 30_000;
/** The time limit for a flood: a server that has not delivered it by then has stalled. */
const LIMIT_MS = 300_000;
const ASK_EVERY_MS = 20;
const PAGE = '/v1/signals?limit=20';

/**
 * The cost of a start with 100,000 deliveries due: the server's peak memory, compared with the same server when idle, and
 * the response times of its API meanwhile. Once with receivers that respond, once with receivers that never do.
 */
export async function benchFlood(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [variant, file] of [
    ['receivers that respond', '../dispatch/receiver.ts'],
    ['receivers that never respond', './black-hole.ts'],
  ] as const) {
    const receiver = await startChild<number[]>(new URL(file, import.meta.url));
    try {
      const idle = await watch(receiver.ready[0] ?? 0, { deliveries: 0 });
      const flooded = await watch(receiver.ready[0] ?? 0, { deliveries: DELIVERIES });
      figures.push({
        bench: 'flood',
        variant: `${DELIVERIES} due at once, ${variant}`,
        ours: flooded.peakMiB,
        floor: idle.peakMiB,
        ratio: Math.round((flooded.peakMiB / idle.peakMiB) * 100) / 100,
        unit: 'MiB at peak',
        target: 'under 300 MB; API p99 under 200 ms',
        delivered: flooded.delivered,
        seconds: Math.round(flooded.seconds * 10) / 10,
        api_requests: flooded.times.length,
        api_p50_ms: round(percentile(flooded.times, 0.5)),
        api_p99_ms: round(percentile(flooded.times, 0.99)),
        api_idle_p99_ms: round(percentile(idle.times, 0.99)),
      });
    } finally {
      receiver.child.end();
    }
  }
  return figures;
}

interface Watched {
  peakMiB: number;
  seconds: number;
  delivered: number;
  /** The milliseconds of each request. */
  times: number[];
}

async function watch(port: number, { deliveries }: { deliveries: number }): Promise<Watched> {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  const env = { DATA_DIR: dataDir, WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8', SIGNAL_ENCODER: 'off' };
  try {
    const apiKey = await queueUp(env, port, deliveries);
    const started = performance.now();
    const server = await startServer(env);
    const client = createLoadClient(server.url, apiKey, CONNECTIONS);
    const db = new Sqlite(join(dataDir, 'signalpost.db'), { readonly: true });
    const left = db.prepare("SELECT count(*) FROM deliveries WHERE status <> 'delivered'").pluck();
    try {
      const times: number[] = [];
      const end = performance.now() + (deliveries > 0 ? LIMIT_MS : 5_000);
      const isOver = () => performance.now() > end || (deliveries > 0 && left.get() === 0);
      const stalled = performance.now() + STALLED_MS;
      let over = false;
      const work = async () => {
        while (!over) {
          times.push(await client.time(PAGE));
          await pause(ASK_EVERY_MS);
        }
      };
      const working = Promise.all(Array.from({ length: CONNECTIONS }, work));
      while (!isOver() && (performance.now() < stalled || left.get() !== deliveries)) await pause(500);
      over = true;
      await working;
      const seconds = (performance.now() - started) / 1_000;
      return { peakMiB: peakMiB(server.pid), seconds, delivered: deliveries - Number(left.get()), times };
    } finally {
      db.close();
      await client.close();
      await server.end();
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Creates a tenant with this many deliveries waiting, and returns an API key of it. */
async function queueUp(env: NodeJS.ProcessEnv, port: number, deliveries: number): Promise<string> {
  const runtime = await openRuntime(loadConfig(env), { writerThread: true });
  const deps = { ...runtime, baseUrl: runtime.config.baseUrl };
  const account = { name: 'Bench', email: 'bench@example.com', plan: 'enterprise' } as const;
  const { tenant } = await createTenant(deps, account);
  const { key, apiKey } = newKey(deps, {
    ...{ tenantId: tenant.id, name: 'Bench', scopes: [...SCOPES] },
    rateLimit: 100_000,
  });
  await deps.store.createKey(key, 100);
  for (let n = 0; n < ENDPOINTS; n++) {
    const url = `http://127.0.0.1:${port}/${n}`;
    await createEndpoint(deps, tenant, webhookInputSchema.parse({ url, rate_limit_per_minute: 10_000 }));
  }
  const posts = Array.from({ length: deliveries / ENDPOINTS }, (_, n) => {
    const { text, url } = samplePost(n);
    return { platform: { name: 'forum', post_url: url }, text };
  });
  for (let i = 0; i < posts.length; i += 100) await observePosts(deps, tenant.id, posts.slice(i, i + 100));
  await runtime.close();
  return apiKey;
}

function peakMiB(pid: number): number {
  const [, kilobytes = '0'] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kilobytes) / 1_024);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
