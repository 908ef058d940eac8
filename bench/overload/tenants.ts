import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { startChild } from '../child.ts';
import { type Figure, percentile } from '../report.ts';
import { startServer } from '../site/server.ts';
import { makeCustomers } from '../way/setting.ts';
import { startReceivers } from '../way/sides.ts';
import type { Run, RunResult } from './client.ts';

const SECONDS = 10;
const TENANTS = 100;
const ENDPOINTS = 10;
/** Concurrent posts per tenant. */
const POSTS = 8;

/**
 * A hundred tenants with ten endpoints each, which post after each response, and wait if they are refused: how long after
 * its acceptance a post arrives, and whether outcomes are stored as fast as posts.
 */
export async function benchManyTenants(): Promise<Figure[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  const receivers = await startReceivers();
  const client = await startChild<string>(new URL('./client.ts', import.meta.url));
  try {
    const env = { DATA_DIR: dataDir, WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' };
    const urls = (tenant: number) =>
      Array.from({ length: ENDPOINTS }, (_, n) => {
        const port = receivers.ports[(tenant * ENDPOINTS + n) % receivers.ports.length];
        return `http://127.0.0.1:${port}/${tenant}/${n}`;
      });
    const customers = await makeCustomers(
      env,
      Array.from({ length: TENANTS }, (_, n) => urls(n)),
    );
    const apiKeys = customers.map(({ apiKey }) => apiKey);
    const server = await startServer(env);
    const db = new Sqlite(join(dataDir, 'signalpost.db'), { readonly: true });
    const count = (terms: string) =>
      db.prepare<[], number>(`SELECT count(*) FROM deliveries ${terms}`).pluck().get() ?? 0;
    const look = () => ({ made: count(''), recorded: count("WHERE status = 'delivered'") });
    const ask = (order: Pick<Run, 'seconds' | 'from'>) =>
      client.child.ask<RunResult>({
        url: server.url,
        apiKeys,
        lanes: TENANTS * POSTS,
        perSecond: null,
        waits: true,
        ...order,
      });

    /** Resolves when everything has arrived; otherwise, the error describes the state of the rest. */
    const allOf = (posts: number) =>
      receivers.arrived(posts * ENDPOINTS).catch((cause: Error) => {
        const states = db
          .prepare('SELECT status, attempt_count, count(*) AS n FROM deliveries GROUP BY 1, 2')
          .all();
        const faults = db
          .prepare("SELECT json_extract(detail, '$.error') AS error, count(*) AS n FROM attempts GROUP BY 1")
          .all();
        const paused = count("d JOIN webhook_endpoints e ON e.id = d.endpoint_id WHERE e.status = 'paused'");
        throw new Error(`${cause.message}: ${JSON.stringify({ states, faults, paused })}`);
      });

    const warm = await ask({ seconds: 4, from: 0 });
    await allOf(warm.accepted.length);
    const before = look();
    const posting = ask({ seconds: SECONDS, from: 1_000_000 });
    // While posts are still accepted: afterwards, outcomes would catch up.
    await new Promise((resolve) => setTimeout(resolve, SECONDS * 1_000 - 100));
    const after = look();
    const result = await posting;
    const drainFrom = performance.now();
    const arrivals = await allOf(result.accepted.length);
    const drainMs = performance.now() - drainFrom;
    await server.end();
    const stored = look();
    db.close();

    const answeredAt = new Map(
      result.numbers.map((number, n) => [number, result.answeredAt[n] ?? Number.NaN]),
    );
    const waits = arrivals.map(({ number, at }) => Math.max(0, at - (answeredAt.get(number) ?? Number.NaN)));
    const askedAt = new Map(
      result.numbers.map((number, n) => [number, (result.answeredAt[n] ?? 0) - (result.acceptedMs[n] ?? 0)]),
    );
    const fromRequest = arrivals.map(({ number, at }) => at - (askedAt.get(number) ?? Number.NaN));
    const made = after.made - before.made;
    const recorded = after.recorded - before.recorded;
    return [
      {
        bench: 'overload',
        variant: `${TENANTS} tenants of ${ENDPOINTS} endpoints, ${POSTS} posts in flight each`,
        ours: percentile(waits, 0.95),
        floor: 2_000,
        ratio: Math.round((percentile(waits, 0.95) / 2_000) * 100) / 100,
        unit: 'ms from acceptance to arrival, p95 (floor: the limit)',
        target: 'p95 under 2,000 ms; outcomes keep pace; lost 0',
        p50_ms: Math.round(percentile(waits, 0.5)),
        from_request_p50_ms: Math.round(percentile(fromRequest, 0.5)),
        from_request_p95_ms: Math.round(percentile(fromRequest, 0.95)),
        accepted_per_s: Math.round(result.accepted.length / (result.elapsedMs / 1_000)),
        refused_503: result.refused,
        other: JSON.stringify(result.other),
        accepted_p95_ms: Math.round(percentile(result.acceptedMs, 0.95)),
        deliveries_made: made,
        outcomes_recorded: recorded,
        recorded_share: Math.round((recorded / made) * 100) / 100,
        rest_after_ms: Math.round(drainMs),
        lost: stored.made - stored.recorded,
      },
    ];
  } finally {
    client.child.end();
    receivers.end();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
