import type { Clock } from '../lib/clock.ts';
import type { ClaimedDelivery } from '../model/delivery.ts';
import { type BodyBytes, toBodyBytes } from '../model/delivery.ts';
import type { BodyTail, RoutedEvent } from '../model/event.ts';
import type { Reserve } from '../webhooks/fan-out.ts';
import type { Agenda } from './agenda.ts';
import { leaseEnd, leaseNeeded, WAIT_MS } from './claim.ts';
import type { Lane } from './lane.ts';
import type { WakeUp } from './wake-up.ts';

export interface ReserveParts {
  clock: Clock;
  agenda: Agenda;
  wakeUp: WakeUp;
  leaseToken: string;
}

/** Deliveries born in hand: a lane with room and nothing waiting before them takes them on while they are being stored. */
export function createReserve({ clock, agenda, wakeUp, leaseToken }: ReserveParts): Reserve {
  return (events) => {
    const now = clock.now();
    const since = clock.monotonic();
    const reserved: { lane: Lane; deliveries: ClaimedDelivery[] }[] = [];
    const lanes = [];
    for (const [lane, all] of byLane(agenda, events)) {
      // A request that is run again after a crash brings the deliveries that its first run stored: one of them may be on the
      // wire by now, from a claim, and giving up its reservation would make it claimable a second time.
      const fresh = all.filter(({ id }) => !lane.holds(id));
      const deliveries = fresh.slice(0, lane.roomFor(fresh.length, since, now));
      if (deliveries.length === 0) continue;
      reserved.push({ lane, deliveries });
      lanes.push(lane.reserve(deliveries.map(({ id }) => id)));
    }
    if (reserved.length === 0) return null;
    return {
      taking: { lanes, now, leaseUntil: leaseEnd(now), renewBefore: leaseNeeded(now), leaseToken },
      settle(taken) {
        for (const { lane, deliveries } of reserved) {
          lane.settle(deliveries, taken, since + WAIT_MS);
          agenda.consider(lane);
        }
        wakeUp.atOnce(); // before the request is answered, which the receivers need not wait for
      },
    };
  };
}

/**
 * A larger body waits for a claim, which brings as many as a lane may hold: those of a batch would fill the memory before their
 * commit says which of them are sent.
 */
const MOST_BYTES = 65_536;

/** Deliveries as a claim would bring them. Endpoints that get the same text share its bytes. */
function byLane(agenda: Agenda, events: readonly RoutedEvent[]): Map<Lane, ClaimedDelivery[]> {
  const lanes = new Map<Lane, ClaimedDelivery[]>();
  let last = { body: '', hash: '', bytes: toBodyBytes('') };
  const bytesOf = (body: string, tail: BodyTail | undefined): BodyBytes => {
    const { hash = '', text = '' } = tail ?? {};
    if (body !== last.body || hash !== last.hash) last = { body, hash, bytes: toBodyBytes(body + text) };
    return last.bytes;
  };
  for (const { event, deliveries } of events) {
    for (const { id, endpointId, body, tail, status } of deliveries) {
      if (status !== 'pending' || body.length + (tail?.bytes ?? 0) > MOST_BYTES) continue;
      const lane = agenda.lane(endpointId, event.tenantId);
      const delivery: ClaimedDelivery = {
        id,
        attempt: 1,
        attemptsInCycle: 0,
        eventType: event.type,
        ...bytesOf(body, tail),
      };
      if (event.trace != null) delivery.trace = event.trace;
      const others = lanes.get(lane);
      if (others === undefined) lanes.set(lane, [delivery]);
      else others.push(delivery);
    }
  }
  return lanes;
}
