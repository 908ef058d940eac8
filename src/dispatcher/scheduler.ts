import type { Clock } from '../lib/clock.ts';
import type { Agenda } from './agenda.ts';
import type { Bell } from './bell.ts';
import type { Claimer } from './claim.ts';
import type { Ledger } from './commit.ts';
import { Flight, type FlightParts } from './flight.ts';
import type { Lane } from './lane.ts';
import { type Places, STANDINGS, type Standing } from './places.ts';

/** Outcomes that wait for their commit before sending pauses. */
const MAX_UNCOMMITTED = 2_048;

/**
 * What is sent in one turn of the event loop: a few milliseconds, most of them for signing and for handing bytes to the
 * sockets. Each request to the API waits for several turns.
 */
const SENT_A_TURN = 32;
const BYTES_A_TURN = 1_048_576;

/** Says when: answers the bell by sending what may be sent and claiming what is wanted. */
export interface Scheduler {
  /** Starts nothing any more; resolves when nothing is in flight and every outcome is stored. */
  drain(): Promise<void>;
}

export interface SchedulerParts {
  clock: Clock;
  bell: Bell;
  agenda: Agenda;
  places: Places;
  ledger: Ledger;
  claimer: Claimer;
  flights: FlightParts;
}

export function createScheduler(parts: SchedulerParts): Scheduler {
  const { clock, bell, agenda, places, ledger, claimer, flights } = parts;
  let drained: (() => void) | null = null;

  function answer(): void {
    if (drained === null) {
      sendAll();
      claimer.run();
    } else if (places.taken === 0 && ledger.waiting === 0) drained();
  }

  function sendAll(): void {
    // Read once a turn: two dozen readings a delivery would be a twentieth of its cost.
    const now = clock.monotonic();
    const wallNow = clock.now();
    let [count, bytes] = [0, 0];
    for (const standing of STANDINGS) {
      const turns = agenda.toSend[standing];
      while (turns.size > 0 && ledger.waiting < MAX_UNCOMMITTED && !places.full(standing)) {
        const lane = turns.next();
        if (lane === null) break;
        // One that has another standing by now gets in line with its like.
        if (lane.standing === standing) {
          count++;
          bytes += sendOne(lane, standing, now);
        }
        agenda.consider(lane, now, wallNow);
        if (count >= SENT_A_TURN || bytes >= BYTES_A_TURN) {
          bell.ring();
          return;
        }
      }
    }
  }

  /** Bytes of the body that was sent. */
  function sendOne(lane: Lane, standing: Standing, now: number): number {
    const { target } = lane;
    if (target === null || !lane.maySend(now, places.perEndpoint(standing))) return 0;
    const delivery = lane.depart(now);
    if (delivery === null) return 0;
    new Flight(flights, { lane, target, delivery, kind: 'queued', standing, onOver: null }).depart();
    return delivery.end - delivery.start;
  }

  bell.listen(answer);
  return {
    drain: () =>
      new Promise((resolve) => {
        drained = resolve;
        agenda.stop();
        bell.ring();
      }),
  };
}
