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
    for (const standing of STANDINGS) {
      const turns = agenda.toSend[standing];
      while (turns.size > 0 && ledger.waiting < MAX_UNCOMMITTED && !places.full(standing)) {
        const lane = turns.next();
        if (lane === null) break;
        // One that has another standing by now gets in line with its like.
        if (lane.standing === standing) sendOne(lane, standing, now);
        agenda.consider(lane, now, wallNow);
      }
    }
  }

  function sendOne(lane: Lane, standing: Standing, now: number): void {
    const { target } = lane;
    if (target === null || !lane.maySend(now, places.perEndpoint(standing))) return;
    const delivery = lane.depart(now);
    if (delivery !== null)
      new Flight(flights, { lane, target, delivery, kind: 'queued', standing, onOver: null }).depart();
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
