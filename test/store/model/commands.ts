import type fc from 'fast-check';
import { expect } from 'vitest';
import { decide } from '../../../src/dispatcher/outcome.ts';
import type { SendResult } from '../../../src/dispatcher/send.ts';
import type { AttemptErrorCode, ClaimedDelivery } from '../../../src/model/delivery.ts';
import type { WebhookInput } from '../../../src/model/webhook.ts';
import type { ReplayableStatus } from '../../../src/store/delivery-log-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { expireDeliveries } from '../../../src/webhooks/housekeeping.ts';
import { bodyText } from '../../support/body-text.ts';
import type { ManualClock } from '../../support/manual-clock.ts';
import { aRoutedEvent, aSignal } from '../../support/store.ts';
import { shiftAll } from '../contract/claiming.ts';
import type { Ending, Expected, ExpectedEndpoint, Flight } from './expected.ts';
import * as rules from './expected.ts';
import { verify } from './verify.ts';

export const TENANT = 'ten_a';

/** The real store. */
export interface World {
  store: Store;
  clock: ManualClock;
  /** The next attempt ID. */
  attempts: number;
  /** The last status observed for each delivery. */
  seen: Map<string, string>;
}

type Command = fc.AsyncCommand<Expected, World>;

/** A step; `run` applies it to the model and the store, and compares the results and then everything. */
function command(name: string, run: (expected: Expected, world: World) => Promise<void>): Command {
  return {
    check: () => true,
    toString: () => name,
    async run(expected, world) {
      await run(expected, world);
      await verify(expected, world);
    },
  };
}

const pickFrom = <T>(items: readonly T[], n: number): T | undefined => items[n % Math.max(items.length, 1)];
const alive = (expected: Expected, n: number): ExpectedEndpoint | undefined =>
  pickFrom(
    [...expected.endpoints.values()].filter((one) => !one.deleted),
    n,
  );
const any = (expected: Expected, n: number): ExpectedEndpoint | undefined =>
  pickFrom([...expected.endpoints.values()], n);

export const newEvents = (n: number, count: number, tooLarge: boolean): Command =>
  command(
    `${count} events for endpoint ${n}${tooLarge ? ', too large' : ''}`,
    async (expected, { store }) => {
      const endpoint = any(expected, n);
      if (endpoint === undefined) return;
      const events = Array.from({ length: count }, () => {
        const deliveryIds = [`dlv_${String(++expected.made).padStart(6, '0')}`];
        const status = tooLarge ? ('rejected' as const) : ('pending' as const);
        return aRoutedEvent(TENANT, [endpoint.id], { deliveryIds, status, createdAt: expected.now });
      });
      await store.commitSignals([aSignal(TENANT, { events })]);
      for (const { id, body, status } of events.flatMap((event) => event.deliveries)) {
        if (endpoint.deleted) continue; // it receives nothing
        expected.deliveries.set(id, {
          ...{ id, body, endpointId: endpoint.id, createdAt: expected.now, state: status },
          ...{ dueAt: tooLarge ? null : expected.now, attempts: 0, before: 0, logged: 0 },
          ...{ expiresAt: null, hasBody: true },
        });
      }
    },
  );

export const claim = (n: number, limit: number, who: number): Command =>
  command(`process ${who} claims ${limit} of endpoint ${n}`, async (expected, { store }) => {
    const endpoint = any(expected, n);
    const token = pickFrom(expected.tokens, who);
    if (endpoint === undefined || token === undefined) return;
    const held = rules.heldBy(expected, token, endpoint.id);
    const [lane] = await store.claimDeliveries({
      lanes: [{ endpointId: endpoint.id, limit, knownVersion: -1, held: heldAttempts(held) }],
      ...{ now: expected.now, leaseUntil: expected.now + rules.LEASE_MS, leaseToken: token },
    });
    if (lane === undefined) throw new Error('a claim answers for each lane');
    if (endpoint.deleted || endpoint.paused !== null) {
      expect([lane.endpoint, lane.deliveries]).toEqual(['gone', []]);
      return;
    }
    expect(lane.endpoint).toMatchObject({ settings: endpoint.settings });
    if (rules.isLeasedElsewhere(expected, endpoint, token)) {
      expect([lane.deliveries, lane.nextDueAt]).toEqual([[], endpoint.lease?.until]);
      return;
    }
    const waiting = rules.waitingFor(expected, endpoint.id);
    const free = waiting.filter(({ id }) => !held.some((flight) => flight.deliveryId === id));
    const due = free.filter(({ dueAt }) => (dueAt ?? 0) <= expected.now);
    expectGiven(lane.deliveries, due.slice(0, limit));
    const next = due[limit] ?? waiting.find(({ dueAt }) => (dueAt ?? 0) > expected.now);
    expect(lane.nextDueAt).toBe(next?.dueAt ?? null);
    for (const delivery of due.slice(0, limit)) rules.take(expected, delivery, token, false);
    if (endpoint.lease !== null) endpoint.lease = { token, until: expected.now + rules.LEASE_MS };
  });

export const probe = (n: number, who: number): Command =>
  command(`process ${who} probes endpoint ${n}`, async (expected, { store }) => {
    const endpoint = any(expected, n);
    const token = pickFrom(expected.tokens, who);
    if (endpoint === undefined || token === undefined) return;
    const held = rules.heldBy(expected, token, endpoint.id);
    const isDue = !endpoint.deleted && endpoint.probeAt !== null && endpoint.probeAt <= expected.now;
    const waiting = rules.waitingFor(expected, endpoint.id);
    const listed = await store.listDueProbes(expected.now, 10);
    expect(listed.some(({ endpointId }) => endpointId === endpoint.id)).toBe(isDue && waiting.length > 0);
    const answer = await store.claimProbe({
      ...{ endpointId: endpoint.id, held: heldAttempts(held) },
      ...{ now: expected.now, leaseUntil: expected.now + rules.LEASE_MS, leaseToken: token },
    });
    const [first] = waiting.filter(({ id }) => !held.some((flight) => flight.deliveryId === id));
    if (!isDue || rules.isLeasedElsewhere(expected, endpoint, token) || first === undefined) {
      expect(answer).toBeNull();
      return;
    }
    expectGiven(answer === null ? [] : [answer.delivery], [first]);
    rules.take(expected, first, token, true);
  });

/** Advances until the endpoint's first retry is due, and sends everything due by then. */
export const retryInTime = (n: number, who: number, endings: Ending[]): Command =>
  command(`process ${who} retries what ${n} has, in time: ${endings}`, async (expected, world) => {
    const endpoint = any(expected, n);
    if (endpoint === undefined) return;
    const retry = rules.waitingFor(expected, endpoint.id).find(({ state }) => state === 'retrying');
    const wait = (retry?.dueAt ?? 0) - expected.now;
    if (wait > 0) await pass(wait).run(expected, world);
    await turn(n, 25, who, endings).run(expected, world);
  });

/** Advances until a probe is due, which ends with the given outcome. */
export const probeInTime = (n: number, who: number, ending: Ending): Command =>
  command(`process ${who} probes one of ${n} in time: ${ending}`, async (expected, world) => {
    const planned = [...expected.endpoints.values()].filter(({ probeAt }) => probeAt !== null);
    const endpoint = pickFrom(planned, n);
    if (endpoint === undefined) return;
    const wait = (endpoint.probeAt ?? 0) - expected.now;
    if (wait > 0) await pass(wait).run(expected, world);
    await probe([...expected.endpoints.values()].indexOf(endpoint), who).run(expected, world);
    const flight = expected.flights.findLast((one) => one.probe && one.endpointId === endpoint.id);
    if (flight !== undefined) await landAll(expected, world, [[flight, ending]]);
  });

/** Stores the outcomes of these requests together, in the given order. */
async function landAll(expected: Expected, world: World, flights: [Flight, Ending][]): Promise<void> {
  const kept = await Promise.all(flights.map((landing) => record(world, expected.now, ...landing)));
  for (const [index, [flight, ending]] of flights.entries())
    expect([flight.deliveryId, kept[index]]).toEqual([
      flight.deliveryId,
      rules.land(expected, flight, ending),
    ]);
}

export const landSome = (n: number, count: number, ending: Ending): Command =>
  command(`${count} end in ${ending}, from ${n}`, async (expected, world) => {
    const { flights } = expected;
    const from = n % Math.max(flights.length, 1);
    const chosen = flights.slice(from, from + count);
    await landAll(
      expected,
      world,
      chosen.map((flight) => [flight, ending]),
    );
  });

/** The usual work of a dispatcher: claims, sends everything, and stores the outcomes. */
export const turn = (n: number, limit: number, who: number, endings: Ending[]): Command =>
  command(`process ${who} sends ${limit} of endpoint ${n}: ${endings}`, async (expected, world) => {
    await claim(n, limit, who).run(expected, world);
    const endpoint = any(expected, n);
    const token = pickFrom(expected.tokens, who);
    if (endpoint === undefined || token === undefined) return;
    const flights = rules.heldBy(expected, token, endpoint.id);
    await landAll(
      expected,
      world,
      flights.map((flight, index) => [flight, pickFrom(endings, index) ?? 'success']),
    );
  });

export const pause = (n: number): Command =>
  command(`pause ${n}`, async (expected, { store }) => {
    const endpoint = any(expected, n);
    if (endpoint === undefined) return;
    expect(await store.pauseEndpoint(TENANT, endpoint.id, expected.now)).toBe(!endpoint.deleted);
    if (!endpoint.deleted) rules.pauseByHand(expected, endpoint);
  });

export const resume = (n: number, limit: number): Command =>
  command(`resume ${n}, ${limit} at a time`, async (expected, { store }) => {
    const endpoint = any(expected, n);
    if (endpoint === undefined) return;
    const step = { tenantId: TENANT, id: endpoint.id, now: expected.now, endpointLimit: null, limit };
    let answer = await store.resumeEndpoint(step);
    while (answer === 'more') {
      expect((await store.getEndpoint(TENANT, endpoint.id))?.status).toBe('paused');
      answer = await store.resumeEndpoint(step);
    }
    expect(answer).toBe(endpoint.deleted ? 'absent' : endpoint.paused === null ? 'active' : 'resumed');
    if (answer === 'resumed') rules.resumeByHand(expected, endpoint);
  });

export const patch = (n: number, changes: Partial<WebhookInput>): Command =>
  command(`patch ${n} ${JSON.stringify(changes)}`, async (expected, { store, clock }) => {
    const endpoint = alive(expected, n);
    if (endpoint === undefined) return;
    const stored = await store.getEndpoint(TENANT, endpoint.id);
    if (stored === null) throw new Error('it is not deleted');
    const settings = { ...endpoint.settings, ...changes };
    expect(await store.updateEndpoint({ ...stored, settings }, clock.now())).toBe('updated');
    rules.change(expected, endpoint, settings);
  });

export const remove = (n: number): Command =>
  command(`delete ${n}`, async (expected, { store }) => {
    const endpoint = any(expected, n);
    if (endpoint === undefined) return;
    expect(await store.deleteEndpoint(TENANT, endpoint.id, expected.now)).toBe(!endpoint.deleted);
    if (!endpoint.deleted) rules.remove(expected, endpoint);
  });

export const replayOne = (n: number): Command =>
  command(`replay delivery ${n}`, async (expected, { store }) => {
    const delivery = pickFrom([...expected.deliveries.values()], n);
    if (delivery === undefined) return;
    const { outcome } = await store.replayDelivery(TENANT, delivery.id, expected.now);
    expect(outcome).toBe(rules.replay(expected, delivery));
  });

export const replayAll = (n: number, status: ReplayableStatus): Command =>
  command(`replay all that are ${status} of ${n}`, async (expected, { store }) => {
    const endpoint = alive(expected, n);
    if (endpoint === undefined) return;
    const chosen = [...expected.deliveries.values()].filter(
      (one) => one.endpointId === endpoint.id && one.state === status && one.hasBody,
    );
    const range = { tenantId: TENANT, endpointId: endpoint.id, status, from: null, limit: 3 };
    let replayed = 0;
    for (let after: (string | number)[] | null = null; ; ) {
      const part = await store.replayRange({ ...range, to: expected.now + 1, after, now: expected.now });
      replayed += part.replayed;
      after = part.next;
      if (after === null) break;
    }
    const made = chosen.filter(({ createdAt }) => createdAt <= expected.now); // the clock may have been set back
    expect(replayed).toBe(made.length);
    for (const one of made) rules.replay(expected, one);
  });

export const crash = (): Command =>
  command('every process dies, and one starts', async (expected, { store }) => {
    const lanes = await store.recoverDeliveries({ own: true });
    for (const endpoint of expected.endpoints.values()) endpoint.lease = null;
    expected.tokens = [`lease_${++expected.tokensEver}`];
    const due = [...expected.endpoints.values()].flatMap((endpoint) => {
      const [first] = rules.waitingFor(expected, endpoint.id);
      return endpoint.deleted || endpoint.paused !== null || first === undefined
        ? []
        : [[endpoint.id, first.dueAt]];
    });
    expect(lanes.map(({ endpointId, nextDueAt }) => [endpointId, nextDueAt]).sort()).toEqual(due.sort());
  });

export const start = (): Command =>
  command('a second process starts', async (expected) => {
    if (expected.tokens.length < 2) expected.tokens.push(`lease_${++expected.tokensEver}`);
  });

export const stop = (who: number): Command =>
  command(`process ${who} stops`, async (expected, { store }) => {
    const token = pickFrom(expected.tokens, who);
    if (token === undefined || expected.flights.some((flight) => flight.token === token)) return;
    await store.releaseLeases(token);
    for (const endpoint of expected.endpoints.values())
      if (endpoint.lease?.token === token) endpoint.lease = null;
  });

export const pass = (ms: number): Command =>
  command(`${ms} ms pass`, async (expected, { clock }) => {
    clock.advance(ms);
    expected.now += ms;
  });

export const setClock = (deltaMs: number): Command =>
  command(`the clock is set by ${deltaMs} ms`, async (expected, { store, clock }) => {
    clock.stepWall(deltaMs);
    await shiftAll(store, expected.now + deltaMs, deltaMs);
    rules.stepClock(expected, deltaMs);
  });

export const keepHouse = (): Command =>
  command('housekeeping', async (expected, world) => {
    await expireDeliveries(world);
    rules.expire(expected);
  });

/** Pauses an endpoint for longer than deliveries are held, while new ones arrive. */
export const holdTooLong = (n: number): Command =>
  command(`${n} is paused for eight days`, async (expected, world) => {
    await newEvents(n, 2, false).run(expected, world);
    await pause(n).run(expected, world);
    await pass(4 * rules.DAY).run(expected, world);
    await newEvents(n, 2, false).run(expected, world);
    await pass(4 * rules.DAY).run(expected, world);
    await keepHouse().run(expected, world);
  });

const heldAttempts = (flights: Flight[]) =>
  flights.map(({ deliveryId, attempt }) => ({ id: deliveryId, attempt }));

function expectGiven(given: ClaimedDelivery[], wanted: rules.ExpectedDelivery[]): void {
  expect(
    given.map(({ bytes, start, end, ...rest }) => ({ ...rest, body: bodyText({ bytes, start, end }) })),
  ).toEqual(
    wanted.map(({ id, body, hasBody, attempts, before }) => ({
      ...{ id, body: hasBody ? body : '', attempt: attempts + 1, attemptsInCycle: attempts - before },
      eventType: 'signal.detected',
    })),
  );
}

const CODES = {
  failure: 'http_status',
  gone: 'http_status',
  blocked: 'blocked_target',
  internal: 'internal',
};

/** Ends a request like the dispatcher: decides by the settings it was sent with, and stores the outcome. */
async function record(world: World, now: number, flight: Flight, ending: Ending): Promise<boolean> {
  const { deliveryId, endpointId, attempt, attemptsInCycle, settings, probe } = flight;
  const result = resultOf(ending);
  const verdict = decide({ result, settings, mode: 'push', attemptsInCycle, now, fraction: 0, probe });
  const id = `att_${String(++world.attempts).padStart(6, '0')}`;
  const log = { ...{ id, attempt, startedAt: now, durationMs: 1, sent: null, timings: {} }, ...result };
  return await world.store.recordOutcome({
    ...{ deliveryId, endpointId, probe, at: now, ...verdict },
    attempt: { ...log, response: result.response, error: result.error },
  });
}

function resultOf(ending: Ending): Pick<SendResult, 'error' | 'response' | 'retryAfterMs'> {
  if (ending === 'success')
    return { error: null, response: { status: 200, headers: {}, body: '' }, retryAfterMs: null };
  const answered = ending === 'gone' ? 410 : ending === 'failure' ? 500 : null;
  return {
    error: { code: CODES[ending] as AttemptErrorCode, message: ending },
    response: answered === null ? null : { status: answered, headers: {}, body: '' },
    retryAfterMs: null,
  };
}
