import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTenant } from '../../src/accounts/tenants.ts';
import { createDispatcher } from '../../src/dispatcher/create.ts';
import { prepareEngine } from '../../src/engine.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createIds } from '../../src/lib/ids.ts';
import { createAddressSet, parseCidr } from '../../src/lib/network.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createSecretBox } from '../../src/lib/secret-box.ts';
import type { Tenant } from '../../src/model/tenant.ts';
import { webhookInputSchema } from '../../src/model/webhook.ts';
import { observePosts } from '../../src/signals/intake.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import type { Store } from '../../src/store/store.ts';
import { createEndpoint } from '../../src/webhooks/endpoints.ts';
import { TEST_CA } from '../../test/dispatcher/tls-fixture.ts';
import { percentile } from '../report.ts';
import { type Measured, peakRssMiB, type Round, samplePost, WARM_UP } from './setting.ts';

// Our side: the whole dispatcher on a database file with FULL durability; each round has a fresh one.
prepareEngine(); // as the server does
process.on('message', (round: Round) => {
  void run(round).then((measured) => process.send?.(measured));
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');

async function run(round: Round): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  try {
    return await measure(round, join(folder, 'signalpost.db'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(round: Round, file: string): Promise<Measured> {
  const parts = await openParts(file);
  const counter = countOutcomes(parts.store);
  const tenant = await makeTenant(parts, round);
  const dispatcher = createDispatcher(
    { ...parts, store: counter.store, localAddress: null, log: quietLog() },
    { ca: TEST_CA },
  );

  const warmedUp = counter.after(WARM_UP);
  const lanes = await queueUp(parts, tenant, round.urls.length, { from: 0, deliveries: WARM_UP });
  await dispatcher.start();
  await warmedUp;

  // Nobody tells the dispatcher of these until all are there. Its connections stay open, as those of the bare loop do.
  await queueUp(parts, tenant, round.urls.length, { from: WARM_UP, deliveries: round.deliveries });
  counter.durations.length = 0;
  const done = counter.after(round.deliveries);
  const started = performance.now();
  dispatcher.nudge(lanes);
  await done;
  const seconds = (performance.now() - started) / 1000;
  await dispatcher.stop(30_000);
  await parts.store.close();
  return {
    perSecond: round.deliveries / seconds,
    p50Ms: percentile(counter.durations, 0.5),
    p99Ms: percentile(counter.durations, 0.99),
    peakRssMiB: peakRssMiB(),
  };
}

async function openParts(file: string) {
  const clock = systemClock;
  const random = systemRandom;
  const loopback = parseCidr('127.0.0.0/8');
  return {
    clock,
    random,
    newId: createIds(clock, random),
    store: await openSqliteStore({ file, clock, writerThread: true }),
    secretBox: createSecretBox(random.bytes(32), random),
    allowTargets: createAddressSet(loopback ? [loopback] : []),
    baseUrl: 'http://localhost:3000',
  };
}

type Parts = Awaited<ReturnType<typeof openParts>>;

async function makeTenant(parts: Parts, { urls }: Round): Promise<Tenant> {
  const { tenant } = await createTenant(parts, {
    name: 'Bench',
    email: 'bench@example.com',
    plan: 'enterprise',
  });
  for (const url of urls) {
    await createEndpoint(parts, tenant, webhookInputSchema.parse({ url, rate_limit_per_minute: 1_000_000 }));
  }
  return tenant;
}

/** Every post goes to every endpoint, so that `deliveries / endpoints` posts make what is asked for. Answers the lanes. */
async function queueUp(
  parts: Parts,
  tenant: Tenant,
  endpoints: number,
  part: { from: number; deliveries: number },
) {
  const posts = Array.from({ length: part.deliveries / endpoints }, (_, n) => {
    const { text, url } = samplePost(part.from + n);
    return { platform: { name: 'forum', post_url: url }, text };
  });
  for (let i = 0; i < posts.length; i += 100) await observePosts(parts, tenant.id, posts.slice(i, i + 100));
  return (await parts.store.listEndpoints(tenant.id)).map(({ id }) => ({
    endpointId: id,
    tenantId: tenant.id,
  }));
}

/** The store, seen through a count of delivered outcomes and their attempts' durations. */
function countOutcomes(store: Store) {
  const durations: number[] = [];
  let wanted = Number.POSITIVE_INFINITY;
  let count = 0;
  let resolve = () => {};
  return {
    durations,
    after(deliveries: number): Promise<void> {
      wanted = deliveries;
      count = 0;
      return new Promise((done) => {
        resolve = done;
      });
    },
    store: {
      ...store,
      async recordOutcome(outcome) {
        const applied = await store.recordOutcome(outcome);
        if (outcome.next.status !== 'delivered')
          throw new Error(`a delivery failed: ${outcome.attempt.error?.message}`);
        durations.push(outcome.attempt.durationMs);
        if (++count === wanted) resolve();
        return applied;
      },
    } satisfies Store,
  };
}

function quietLog() {
  return { info: () => {}, warn: console.error, error: console.error };
}
