import type { Clock } from '../lib/clock.ts';
import { type BodyBytes, toBodyBytes } from '../model/body-bytes.ts';
import type { ClaimedDelivery } from '../model/delivery.ts';
import type { RoutedEvent } from '../model/event.ts';
import type { Reserve } from '../webhooks/in-hand.ts';
import type { Agenda } from './agenda.ts';
import type { Bell } from './bell.ts';
import type { Lane } from './lane.ts';
import { leaseEnd, WAIT_MS } from './leases.ts';

export interface ReserveParts {
  clock: Clock;
  agenda: Agenda;
  bell: Bell;
  leaseToken: string;
}

/** Deliveries born in hand: a lane with room and nothing waiting before them takes them on while they are being stored. */
export function createReserve({ clock, agenda, bell, leaseToken }: ReserveParts): Reserve {
  return (events) => {
    const now = clock.now();
    const since = clock.monotonic();
    const reserved: { lane: Lane; deliveries: ClaimedDelivery[] }[] = [];
    const lanes = [];
    for (const [lane, all] of byLane(agenda, events)) {
      const deliveries = all.slice(0, lane.roomFor(all.length, since, now));
      if (deliveries.length === 0) continue;
      reserved.push({ lane, deliveries });
      lanes.push(lane.reserve(deliveries.map(({ id }) => id)));
    }
    if (reserved.length === 0) return null;
    return {
      taking: { lanes, now, leaseUntil: leaseEnd(now), leaseToken },
      settle(taken) {
        for (const { lane, deliveries } of reserved) {
          lane.settle(deliveries, taken, since + WAIT_MS);
          agenda.consider(lane);
        }
        bell.ring();
      },
    };
  };
}

/** Deliveries as a claim would bring them. Endpoints that get the same text share its bytes. */
function byLane(agenda: Agenda, events: readonly RoutedEvent[]): Map<Lane, ClaimedDelivery[]> {
  const lanes = new Map<Lane, ClaimedDelivery[]>();
  let last = { body: '', bytes: toBodyBytes('') };
  const bytesOf = (body: string): BodyBytes => {
    if (body !== last.body) last = { body, bytes: toBodyBytes(body) };
    return last.bytes;
  };
  for (const { event, deliveries } of events) {
    for (const { id, endpointId, body, status } of deliveries) {
      if (status === 'rejected') continue;
      const lane = agenda.lane(endpointId, event.tenantId);
      const delivery = { id, attempt: 1, attemptsInCycle: 0, ...bytesOf(body) };
      const others = lanes.get(lane);
      if (others === undefined) lanes.set(lane, [delivery]);
      else others.push(delivery);
    }
  }
  return lanes;
}
