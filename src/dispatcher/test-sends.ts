import type { Clock } from '../lib/clock.ts';
import type { AttemptRecord, ClaimedDelivery } from '../model/delivery.ts';
import { toBodyBytes } from '../model/delivery.ts';
import type { Store } from '../store/store.ts';
import type { SendTest } from '../webhooks/test-delivery.ts';
import type { Agenda } from './agenda.ts';
import { Flight, type FlightParts } from './flight.ts';
import type { PrepareTarget } from './target.ts';

export interface TestSendParts {
  store: Store;
  clock: Clock;
  agenda: Agenda;
  prepare: PrepareTarget;
  flights: FlightParts;
}

/** Tests go out of turn, within the endpoint's throttle and outside its queue. */
export function createSendTest({ store, clock, agenda, prepare, flights }: TestSendParts): SendTest {
  return async ({ endpoint, deliveryId, body, eventType = 'webhook.test' }) => {
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
    const terms = { lane, target, delivery, kind: 'test', standing: 'first', onOver: resolve } as const;
    const flight = new Flight(flights, terms);
    try {
      // Stored first: it counts for the throttle over a restart too, and was sent if anybody saw it.
      await store.recordTestSend({ id: deliveryId, endpointId: endpoint.id, startedAt: clock.now() });
    } catch (error) {
      flight.cancel();
      throw error;
    }
    flight.depart();
    return { kind: 'sent', record: await promise };
  };
}
