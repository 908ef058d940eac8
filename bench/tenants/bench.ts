import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { newKey } from '../../src/accounts/keys.ts';
import { createTenant } from '../../src/accounts/tenants.ts';
import { loadConfig } from '../../src/config.ts';
import { SCOPES } from '../../src/model/key.ts';
import { webhookInputSchema } from '../../src/model/webhook.ts';
import { openRuntime, type Runtime } from '../../src/runtime.ts';
import { observePosts } from '../../src/signals/intake.ts';
import { createEndpoint } from '../../src/webhooks/endpoints.ts';
import { startChild } from '../child.ts';
import { type Figure, percentile } from '../report.ts';
import { startServer } from '../site/server.ts';
import { ATTACKS, type Attack, aPost, largeFormat, type Order } from './worst.ts';

const SECONDS = 8;
const ASK_EVERY_MS = 40;
const SEEDED_POSTS = 1_500;

/**
 * The effect on one tenant of another that uses its limits on the largest plan in the worst way: the times of its pages and
 * posts, compared with the same server without the other.
 */
export async function benchTenants(): Promise<Figure[]> {
  const receiver = await startChild<number[]>(new URL('../dispatch/receiver.ts', import.meta.url));
  const worst = await startChild(new URL('./worst.ts', import.meta.url));
  const figures: Figure[] = [];
  try {
    let idleMs = Number.NaN;
    for (const attack of ATTACKS) {
      const { times, answers } = await measure(attack, receiver.ready[0] ?? 0, worst.child.ask);
      const p99 = percentile(times, 0.99);
      if (attack === 'nothing') idleMs = p99;
      figures.push({
        bench: 'tenants',
        variant: `p99 of a tenant during the worst of another: ${attack}`,
        ...{ ours: p99, floor: idleMs, ratio: round(p99 / idleMs), unit: 'ms' },
        target: 'under 250 ms',
        p99_ms: round(p99),
        p50_ms: round(percentile(times, 0.5)),
        slowest_ms: round(Math.max(...times)),
        requests: times.length,
        worst_answers: JSON.stringify(answers),
      });
    }
    return figures;
  } finally {
    worst.child.end();
    receiver.child.end();
  }
}

async function measure(
  attack: Attack,
  port: number,
  ask: (order: Order) => Promise<unknown>,
): Promise<{ times: number[]; answers: unknown }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  const env = { DATA_DIR: dataDir, WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8', SIGNAL_ENCODER: 'off' };
  try {
    const keys = await prepare(env, attack, port);
    const server = await startServer(env);
    try {
      await timeTenant(server.url, keys.quiet, 1);
      const order = { url: server.url, apiKey: keys.worst, attack, seconds: SECONDS + 1 };
      const [answers, times] = await Promise.all([ask(order), timeTenant(server.url, keys.quiet, SECONDS)]);
      return { times, answers };
    } finally {
      await server.end();
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** A quiet tenant, and one with the data for its attack: posts to search and to preview, or nine large formats. */
async function prepare(env: NodeJS.ProcessEnv, attack: Attack, port: number) {
  const runtime = await openRuntime(loadConfig(env), { writerThread: true });
  const quiet = await addTenant(runtime, 'pro');
  const worst = await addTenant(runtime, 'enterprise');
  const deps = { ...runtime, baseUrl: runtime.config.baseUrl };
  for (const name of attack === 'formats' ? 'abcdefghi' : '') {
    const input = { url: `http://127.0.0.1:${port}/${name}`, payload_format: largeFormat(name) };
    await createEndpoint(deps, worst.tenant, webhookInputSchema.parse(input));
  }
  const seeded = attack === 'search' || attack === 'previews' ? SEEDED_POSTS : 0;
  for (let n = 0; n < seeded; n += 500) {
    const posts = Array.from({ length: 500 }, (_, i) => aPost(`s${n + i}`, 2_000));
    await observePosts(deps, worst.tenant.id, posts);
  }
  await runtime.close();
  return { quiet: quiet.apiKey, worst: worst.apiKey };
}

async function addTenant(runtime: Runtime, plan: 'pro' | 'enterprise') {
  const { tenant } = await createTenant(runtime, { name: plan, email: `${plan}@example.com`, plan });
  const made = newKey(runtime, {
    tenantId: tenant.id,
    name: 'Bench',
    scopes: [...SCOPES],
    rateLimit: 1_000_000,
  });
  await runtime.store.createKey(made.key, 100);
  return { tenant, apiKey: made.apiKey };
}

/** The milliseconds of each request of a tenant that alternately reads a page and stores a post. */
async function timeTenant(url: string, apiKey: string, seconds: number): Promise<number[]> {
  const pool = new Pool(url, { connections: 16 });
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const asked: Promise<number>[] = [];
  const end = performance.now() + seconds * 1_000;
  for (let n = 0; performance.now() < end; n++) {
    const body = JSON.stringify(aPost(`q${end}-${n}`, 500));
    const call =
      n % 2 === 0
        ? ({ method: 'GET', path: '/v1/signals?limit=20' } as const)
        : ({ method: 'POST', path: '/v1/signals', body } as const);
    asked.push(time(() => ask(pool, { ...call, headers })));
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
  const times = await Promise.all(asked);
  await pool.close();
  return times;
}

async function ask(pool: Pool, call: Parameters<Pool['request']>[0]): Promise<void> {
  const { statusCode, body } = await pool.request(call);
  await body.dump();
  if (statusCode >= 300) throw new Error(`the quiet tenant got a response with status ${statusCode}`);
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
