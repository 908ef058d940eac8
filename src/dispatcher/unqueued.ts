import type { Clock } from '../lib/clock.ts';
import type { AttemptRecord, ClaimedDelivery } from '../model/delivery.ts';
import { toBodyBytes } from '../model/delivery.ts';
import { DomainError } from '../model/errors.ts';
import type { Store } from '../store/store.ts';
import type { SendTest } from '../webhooks/test-delivery.ts';
import type { Agenda } from './agenda.ts';
import { leaseEnd } from './claim.ts';
import { Flight, type FlightDeps } from './flight.ts';
import type { Lane } from './lane.ts';
import { dueInShares } from './probe-shares.ts';
import type { Log } from './recorder.ts';
import type { PrepareTarget } from './target.ts';

/** Maximum number of concurrent probes: a thousand dead endpoints must not take the slots of healthy ones. */
const AT_ONCE = 64;

/** Probes paused endpoints with the delivery that has waited longest (contract, section 5, "Pause"). */
export interface Prober {
  /** Sends due probes. Never rejects, and does not wait for responses. */
  run(): Promise<void>;
  /** Stops sending. */
  stop(): void;
}

export interface ProberDeps {
  store: Store;
  clock: Clock;
  agenda: Agenda;
  prepare: PrepareTarget;
  flights: FlightDeps;
  leaseToken: string;
  log: Log;
}

export function createProber(deps: ProberDeps): Prober {
  const { store, clock, agenda, leaseToken, log } = deps;
  let underWay = 0;
  let stopped = false;

  async function probe(lane: Lane): Promise<void> {
    const { endpointId } = lane;
    lane.beginProbe();
    underWay++;
    try {
      const now = clock.now();
      const terms = { endpointId, held: lane.held(), now, leaseUntil: leaseEnd(now), leaseToken };
      const claim = await store.claimProbe(terms);
      if (claim === null || stopped) return;
      const { endpoint, delivery } = claim;
      const target = deps.prepare(endpoint);
      if (!lane.departProbe(delivery, endpoint.settings.rate_limit_per_minute, clock.monotonic())) return;
      await new Promise<unknown>((onOver) =>
        new Flight(deps.flights, {
          lane,
          target,
          delivery,
          kind: 'probe',
          health: 'first',
          onOver,
        }).depart(),
      );
    } catch (error) {
      log.warn({ err: error, endpointId }, 'an endpoint could not be probed; trying again');
    } finally {
      lane.endProbe();
      underWay--;
      agenda.consider(lane);
    }
  }

  return {
    async run() {
      try {
        const list = (limit: number, except: readonly string[]) =>
          store.listDueProbes(clock.now(), limit, except);
        for (const { endpointId, tenantId } of await dueInShares(list, AT_ONCE - underWay)) {
          const lane = agenda.lane(endpointId, tenantId);
          if (underWay < AT_ONCE && !lane.isProbing) void probe(lane);
        }
      } catch (error) {
        log.warn({ err: error }, 'paused endpoints could not be listed; trying again');
      }
    },
    stop() {
      stopped = true;
    },
  };
}

export interface TestSendDeps {
  store: Store;
  clock: Clock;
  agenda: Agenda;
  prepare: PrepareTarget;
  flights: FlightDeps;
}

/**
 * Sends tests immediately, within the rate limit and outside the queue of the endpoint. They take no slots of a health:
 * tests of unresponsive endpoints, hundreds a second, would leave none for the first deliveries to other endpoints.
 */
export function createSendTest({ store, clock, agenda, prepare, flights }: TestSendDeps): SendTest {
  return async ({ endpoint, deliveryId, body, eventType = 'webhook.test' }) => {
    if (!flights.slots.hasRoomFor(endpoint.tenantId)) throw busy();
    const lane = agenda.lane(endpoint.id, endpoint.tenantId);
    const now = clock.monotonic();
    lane.throttle.setLimit(endpoint.settings.rate_limit_per_minute);
    if (!lane.throttle.take(now))
      return { kind: 'throttled', retryAfterMs: lane.throttle.nextRoomAt(now) - now };
    const { promise, resolve } = Promise.withResolvers<AttemptRecord>();
    const delivery: ClaimedDelivery = {
      ...{ id: deliveryId, ...toBodyBytes(body), attempt: 1, attemptsInCycle: 0, eventType },
    };
    const target = prepare(endpoint);
    const terms = { lane, target, delivery, kind: 'test', health: null, onOver: resolve } as const;
    const flight = new Flight(flights, terms);
    try {
      // Stored first, so that it counts towards the rate limit after a restart, too: it may have been sent.
      await store.recordTestSend({ id: deliveryId, endpointId: endpoint.id, startedAt: clock.now() });
    } catch (error) {
      flight.cancel();
      throw error;
    }
    flight.depart();
    return { kind: 'sent', record: await promise };
  };
}

function busy(): DomainError {
  const detail = 'Too many requests to your endpoints are in progress. Nothing was sent.';
  return new DomainError('UNAVAILABLE', detail, { retryAfterSeconds: 1 });
}
