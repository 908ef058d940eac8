import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { startChild } from '../child.ts';
import { type Figure, percentile } from '../report.ts';
import { startServer } from '../site/server.ts';
import { makeCustomers } from '../way/setting.ts';
import type { Run, RunResult } from './client.ts';

const SECONDS = 10;
/** Enough concurrent callers to keep the server busy, but too few for refusals. */
const LANES = 64;
/** Enough tenants not to reach the limits of their plans. */
const TENANTS = 16;

/**
 * Twice the rate that the server can accept, for ten seconds: how much it accepts, how long that takes, and whether all of it is stored.
 * Sixteen tenants send one post at a time; each has an endpoint, whose receiver is in a separate process.
 */
export async function benchOverload(): Promise<Figure[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  const receiver = await startChild<number[]>(new URL('../dispatch/receiver.ts', import.meta.url));
  const client = await startChild<string>(new URL('./client.ts', import.meta.url));
  try {
    const env = { DATA_DIR: dataDir, WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' };
    const urls = (n: number) => [`http://127.0.0.1:${receiver.ready[0]}/${n}`];
    const customers = await makeCustomers(
      env,
      Array.from({ length: TENANTS }, (_, n) => urls(n)),
    );
    const server = await startServer(env);
    const ask = (order: Partial<Run>) =>
      client.child.ask<RunResult>({
        ...{ url: server.url, apiKeys: customers.map(({ apiKey }) => apiKey), lanes: LANES },
        ...{ perSecond: null, ...order },
      });
    const warm = await ask({ seconds: 3, from: 0 });
    const steady = await ask({ seconds: SECONDS, from: 1_000_000 });
    const rate = steady.accepted.length / (steady.elapsedMs / 1_000);
    const flooded = await ask({ seconds: SECONDS, from: 2_000_000, perSecond: 2 * rate });
    const peak = peakMiB(server.pid);
    await server.end();
    const lost = countLost(dataDir, [warm, steady, flooded]);
    const taken = flooded.accepted.length / (flooded.elapsedMs / 1_000);
    return [
      {
        bench: 'overload',
        variant: 'single posts at twice the sustainable rate',
        ours: taken,
        floor: rate,
        ratio: Math.round((taken / rate) * 100) / 100,
        unit: 'accepted/s (floor: at the sustainable rate)',
        target: 'lost 0; p99 of accepted under 3,500 ms',
        lost,
        sent: flooded.sent,
        refused_503: flooded.refused,
        refused_without_retry_after: flooded.rude,
        other: JSON.stringify(flooded.other),
        accepted_p50_ms: round(percentile(flooded.acceptedMs, 0.5)),
        accepted_p99_ms: round(percentile(flooded.acceptedMs, 0.99)),
        steady_p99_ms: round(percentile(steady.acceptedMs, 0.99)),
        peak_mib: peak,
      },
    ];
  } finally {
    client.child.end();
    receiver.child.end();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Signals that were accepted, but are not stored or have no delivery. */
function countLost(dataDir: string, all: readonly RunResult[]): number {
  const db = new Sqlite(join(dataDir, 'signalpost.db'), { readonly: true });
  const stored = new Set(
    db
      .prepare<[], string>(
        'SELECT s.id FROM signals s JOIN events e ON e.subject_id = s.id JOIN deliveries d ON d.event_id = e.id',
      )
      .pluck()
      .all(),
  );
  db.close();
  return all.flatMap(({ accepted }) => accepted).filter((id) => !stored.has(id)).length;
}

function peakMiB(pid: number): number {
  const [, kilobytes = '0'] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kilobytes) / 1_024);
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
