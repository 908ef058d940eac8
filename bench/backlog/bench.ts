import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTenant } from '../../src/accounts/tenants.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createIds, type NewId } from '../../src/lib/ids.ts';
import { createAddressSet, parseCidr } from '../../src/lib/network.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createSecretBox } from '../../src/lib/secret-box.ts';
import type { ClaimedDelivery, Outcome } from '../../src/model/delivery.ts';
import type { RoutedEvent } from '../../src/model/event.ts';
import { webhookInputSchema } from '../../src/model/webhook.ts';
import type { NewSignal } from '../../src/store/signal-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import type { Store } from '../../src/store/store.ts';
import { createEndpoint } from '../../src/webhooks/endpoints.ts';
import { createLookup } from '../../src/webhooks/target-lookup.ts';
import { type Figure, median } from '../report.ts';

const LARGE = 1_000_000;
const SMALL = 10_000;
const ENDPOINTS = 50;
/** Deliveries per lane and lanes per claim, as in the dispatcher. */
const PER_LANE = 32;
const LANES_A_CLAIM = 16;
const CLAIMS = 60;
const ROUNDS = 5;
const EVENTS_A_COMMIT = 100;
const LISTS = 6;
const BODY = JSON.stringify({ excerpt: 'x'.repeat(700) });

/** Deliveries claimed per second with a million waiting, compared with ten thousand, alternating in one run. */
export async function benchBacklog(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  try {
    const small = await prepare(join(folder, 'small.db'), SMALL);
    const large = await prepare(join(folder, 'large.db'), LARGE);
    const rounds: { ours: number; floor: number }[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      rounds.push({ floor: await claimRate(small), ours: await claimRate(large) });
    }
    const lists = [await listFigure(large), await eventsFigure(large)];
    for (const { store } of [small, large]) await store.close();
    const of = (pick: (round: { ours: number; floor: number }) => number) => median(rounds.map(pick));
    return [
      {
        bench: 'backlog',
        variant: `claims with ${LARGE} waiting, against ${SMALL}`,
        ours: Math.round(of((round) => round.ours)),
        floor: Math.round(of((round) => round.floor)),
        ratio: Math.round(of((round) => round.ours / round.floor) * 1000) / 1000,
        unit: 'deliveries claimed/s',
        rounds: ROUNDS,
      },
      ...lists,
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A page of successful deliveries, which are the oldest of all, behind everything that waits. */
async function listFigure({ store, tenantId, newId, lanes }: Prepared): Promise<Figure> {
  const now = systemClock.now();
  const terms = { now, leaseUntil: now + 60_000, leaseToken: 'bench' };
  const lane = { endpointId: lanes[0] ?? '', limit: PER_LANE, knownVersion: 1, held: [] };
  const [claim] = await store.claimDeliveries({ lanes: [lane], ...terms });
  for (const delivery of claim?.deliveries ?? []) {
    const outcome = outcomeOf(lane.endpointId, delivery, newId('att'));
    await store.recordOutcome({ ...outcome, next: { status: 'delivered' } });
  }
  const asked = {
    ...{ endpointId: null, eventType: null, eventId: null, from: null, to: null, after: null, limit: 25 },
    status: 'delivered' as const,
  };
  return timed('GET /v1/deliveries?status=delivered', 'under 50 ms', () =>
    store.listDeliveries(tenantId, asked),
  );
}

/** A page of a hundred events, each with an outcome for every endpoint, and the longest time for which it blocked the event loop. */
async function eventsFigure({ store, tenantId }: Prepared): Promise<Figure> {
  const asked = { types: [], from: null, to: null, after: null, limit: 100 };
  return timed('100 events of GET /v1/events', 'event loop blocked for less than 50 ms', () =>
    store.listEvents(tenantId, asked),
  );
}

async function timed(variant: string, target: string, list: () => Promise<unknown>): Promise<Figure> {
  const times: number[] = [];
  let [longest, last, watching] = [0, performance.now(), true];
  const watch = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (watching) setImmediate(watch);
  };
  for (let i = 0; i < LISTS; i++) {
    if (i === 1) watch(); // the first one fills caches
    last = performance.now();
    const started = performance.now();
    await list();
    times.push(performance.now() - started);
  }
  watching = false;
  const ours = median(times.slice(1));
  return {
    ...{ bench: 'backlog', variant: `${variant}, ${LARGE} waiting`, ours, floor: 50, target },
    ratio: Math.round((ours / 50) * 100) / 100,
    unit: 'ms (floor: the limit)',
    ours_ms: ours.toFixed(1),
    longest_hold_of_the_loop_ms: longest.toFixed(1),
  };
}

interface Prepared {
  store: Store;
  tenantId: string;
  newId: NewId;
  lanes: string[];
}

async function prepare(file: string, deliveries: number): Promise<Prepared> {
  const clock = systemClock;
  const random = systemRandom;
  const loopback = parseCidr('127.0.0.0/8');
  const deps = {
    ...{ clock, random, baseUrl: 'http://localhost:3000' },
    newId: createIds(clock, random),
    store: await openSqliteStore({ file, clock, writerThread: true }),
    secretBox: createSecretBox(random.bytes(32), random),
    allowTargets: createAddressSet(loopback ? [loopback] : []),
    lookup: createLookup(clock),
  };
  const account = { name: 'Bench', email: 'bench@example.com', plan: 'enterprise' } as const;
  const { tenant } = await createTenant(deps, account);
  const lanes: string[] = [];
  for (let n = 0; n < ENDPOINTS; n++) {
    const input = webhookInputSchema.parse({ url: `http://127.0.0.1:9/${n}` });
    lanes.push((await createEndpoint(deps, tenant, input)).endpoint.id);
  }
  const profiles = await deps.store.listProfiles(tenant.id);
  for (let left = deliveries / ENDPOINTS; left > 0; left -= EVENTS_A_COMMIT) {
    const events = Array.from({ length: Math.min(left, EVENTS_A_COMMIT) }, (): RoutedEvent => {
      const createdAt = clock.now();
      const event = { id: deps.newId('evt'), tenantId: tenant.id, subjectId: 'sig', data: '{}', createdAt };
      return {
        event: { ...event, type: 'signal.detected' },
        deliveries: lanes.map((endpointId) => ({
          id: deps.newId('dlv'),
          endpointId,
          body: BODY,
          status: 'pending',
        })),
        batched: [],
        skipped: [],
      };
    });
    await deps.store.commitSignals([signalOf(deps.newId('sig'), tenant.id, profiles[0]?.id ?? '', events)]);
  }
  return { store: deps.store, tenantId: tenant.id, newId: deps.newId, lanes };
}

/** Claims from all lanes in turn. Between claims, outside the measured time, claimed deliveries are moved to the end of their queue. */
async function claimRate({ store, lanes, newId }: Prepared): Promise<number> {
  let claimed = 0;
  let seconds = 0;
  for (let i = 0; i < CLAIMS; i++) {
    const from = (i * LANES_A_CLAIM) % lanes.length;
    const served = Array.from({ length: LANES_A_CLAIM }, (_, n) => lanes[(from + n) % lanes.length] ?? '');
    const now = systemClock.now();
    const started = performance.now();
    const claims = await store.claimDeliveries({
      lanes: served.map((endpointId) => ({ endpointId, limit: PER_LANE, knownVersion: 1, held: [] })),
      now,
      leaseUntil: now + 60_000,
      leaseToken: 'bench',
    });
    seconds += (performance.now() - started) / 1000;
    const outcomes = claims.flatMap(({ endpointId, deliveries }) =>
      deliveries.map((delivery) => outcomeOf(endpointId, delivery, newId('att'))),
    );
    claimed += outcomes.length;
    await Promise.all(outcomes.map((outcome) => store.recordOutcome(outcome)));
  }
  return claimed / seconds;
}

function outcomeOf(endpointId: string, { id, attempt }: ClaimedDelivery, attemptId: string): Outcome {
  const at = systemClock.now();
  return {
    ...{ deliveryId: id, endpointId, at, gone: false, probe: false, streak: 'keep' },
    attempt: {
      ...{ id: attemptId, attempt, startedAt: at, durationMs: 1, sent: null, response: null, timings: {} },
      error: { code: 'network', message: '' },
    },
    next: { status: 'retrying', at },
  };
}

function signalOf(id: string, tenantId: string, profileId: string, events: RoutedEvent[]): NewSignal {
  return {
    ...{ id, tenantId, profileId, events, platform: 'forum', externalId: id, canonicalUrl: null },
    ...{ signalType: 'intent_post', classification: 'hot', score: 90, timestamp: systemClock.now() },
    ...{
      companyDomain: '',
      company: null,
      facts: [],
      personKeys: [],
      nearKeys: [],
      wire: '{}',
      explanation: '{}',
      text: 'bench',
    },
  };
}
