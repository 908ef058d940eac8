import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newKey } from '../../src/accounts/keys.ts';
import { createTenant } from '../../src/accounts/tenants.ts';
import { loadConfig } from '../../src/config.ts';
import { SCOPES } from '../../src/model/key.ts';
import { sourceInputSchema } from '../../src/model/source.ts';
import { openRuntime } from '../../src/runtime.ts';
import { createSource } from '../../src/signals/source-management.ts';
import { startChild } from '../child.ts';
import { type Figure, percentile } from '../report.ts';
import { createLoadClient } from '../signals/load-client.ts';
import { startServer } from '../site/server.ts';
import { HOST_KINDS } from './kinds.ts';
import type { Seen } from './world.ts';

const TENANTS = 50;
const SOURCES_A_TENANT = 20;
/** Out of 1,000: 4 % are slow, and 4 % dead. */
const EVERY = 25;
const INTERVAL_S = 60;
/** All are due at once at the start: the first round is the hardest. */
const WATCHED_MS = 300_000;
const CONNECTIONS = 4;
const ASK_EVERY_MS = 20;
const PAGE = '/v1/signals?limit=20';

/**
 * A server that reads 1,000 feeds of 50 tenants, each on its own host, 4 % of which respond after ten seconds and 4 %
 * never: the longest time between two reads of a healthy feed, compared with its interval, with memory and API times.
 */
export async function benchSources(): Promise<Figure[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  const env = { DATA_DIR: dataDir, WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' };
  const world = await startChild<number>(new URL('./world.ts', import.meta.url));
  try {
    const { apiKey, hosts } = await fill(env, world.ready);
    const startedAt = Date.now();
    const server = await startServer(env);
    const client = createLoadClient(server.url, apiKey, CONNECTIONS);
    const times: number[] = [];
    try {
      const work = async () => {
        while (Date.now() - startedAt < WATCHED_MS) {
          times.push(await client.time(PAGE));
          await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
        }
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, work));
      const endedAt = Date.now();
      const { readings } = await world.child.ask<Seen>({});
      const waits = hosts.map((host) => longestWait([startedAt, ...(readings[host] ?? []), endedAt]));
      const longest = Math.max(...waits);
      return [
        {
          bench: 'sources',
          variant: `${TENANTS * SOURCES_A_TENANT} sources of ${TENANTS} tenants, 4 % slow and 4 % dead hosts`,
          ours: longest / 1_000,
          floor: INTERVAL_S,
          ratio: Math.round((longest / 1_000 / INTERVAL_S) * 100) / 100,
          unit: 's between reads of a healthy source',
          target: 'ratio under 2; API p99 under 60 ms; under 300 MiB',
          wait_p50_s: seconds(percentile(waits, 0.5)),
          wait_p99_s: seconds(percentile(waits, 0.99)),
          readings: Object.values(readings).reduce((sum, { length }) => sum + length, 0),
          api_requests: times.length,
          api_p50_ms: Math.round(percentile(times, 0.5) * 10) / 10,
          api_p99_ms: Math.round(percentile(times, 0.99) * 10) / 10,
          peak_mib: peakMiB(server.pid),
        },
      ];
    } finally {
      await client.close();
      await server.end();
    }
  } finally {
    world.child.end();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Creates tenants and sources; returns the healthy hosts and a key of one tenant. */
async function fill(env: NodeJS.ProcessEnv, port: number): Promise<{ apiKey: string; hosts: string[] }> {
  const runtime = await openRuntime(loadConfig(env));
  const hosts: string[] = [];
  let apiKey = '';
  for (let t = 0; t < TENANTS; t++) {
    const account = { name: `Bench ${t}`, email: `bench${t}@example.com`, plan: 'enterprise' } as const;
    const { tenant } = await createTenant(runtime, account);
    for (let s = 0; s < SOURCES_A_TENANT; s++) {
      const number = t * SOURCES_A_TENANT + s;
      const kind = number % EVERY === 0 ? 'dead' : number % EVERY === 1 ? 'slow' : 'healthy';
      const host = `127.${HOST_KINDS[kind]}.${Math.floor(number / 250)}.${(number % 250) + 1}`;
      if (kind === 'healthy') hosts.push(host);
      const url = `http://${host}:${port}/feed.xml`;
      const input = { kind: 'rss', name: `Feed ${s}`, url, interval_seconds: INTERVAL_S };
      await createSource(runtime, tenant, sourceInputSchema.parse(input));
    }
    if (t > 0) continue;
    const made = newKey(runtime, {
      ...{ tenantId: tenant.id, name: 'Bench', scopes: [...SCOPES] },
      rateLimit: 100_000,
    });
    await runtime.store.createKey(made.key, 100);
    apiKey = made.apiKey;
  }
  await runtime.close();
  return { apiKey, hosts };
}

function longestWait(moments: readonly number[]): number {
  return Math.max(...moments.slice(1).map((moment, i) => moment - (moments[i] ?? moment)));
}

function peakMiB(pid: number): number {
  const [, kilobytes = '0'] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kilobytes) / 1_024);
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}
