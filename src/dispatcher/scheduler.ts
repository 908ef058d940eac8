import type { Clock } from '../lib/clock.ts';
import type { Store } from '../store/store.ts';
import type { Agenda, WakeUp } from './agenda.ts';
import type { Claimer } from './claim.ts';
import { Flight, type FlightDeps } from './flight.ts';
import type { Lane } from './lane.ts';
import type { OutcomeRecorder } from './recorder.ts';
import { HEALTH_LEVELS, type Health, type Slots } from './slots.ts';

/** Outcomes that wait for their commit before sending pauses. */
const MAX_UNCOMMITTED = 2_048;

/**
 * What is sent in one turn of the event loop: a few milliseconds, most of them for signing and for handing bytes to the
 * sockets. Each request to the API waits for several turns.
 */
const SENT_A_TURN = 32;
const BYTES_A_TURN = 1_048_576;

/** Answers each wake-up by sending what may be sent and claiming what is wanted. */
export interface Scheduler {
  /** Starts nothing any more; resolves when nothing is in flight and every outcome is stored. */
  drain(): Promise<void>;
}

/** How soon it is looked again whether sending may go on. */
const LOOK_AGAIN_MS = 1_000;

export interface SchedulerDeps {
  store: Pick<Store, 'epoch'>;
  clock: Clock;
  wakeUp: WakeUp;
  agenda: Agenda;
  slots: Slots;
  recorder: OutcomeRecorder;
  claimer: Claimer;
  flights: FlightDeps;
}

export function createScheduler(deps: SchedulerDeps): Scheduler {
  const { store, clock, wakeUp, agenda, slots, recorder, claimer, flights } = deps;
  let epoch = store.epoch();
  let isLookPlanned = false;
  let drained: (() => void) | null = null;

  function answer(): void {
    if (drained === null) {
      if (mayHold()) sendAll();
      claimer.run();
    } else if (slots.taken === 0 && recorder.waiting === 0) drained();
  }

  /** A process that stood still may find that others send what it holds: it gives all of it back, and claims it anew. */
  function mayHold(): boolean {
    const current = store.epoch();
    if (current !== epoch) agenda.giveBackAll();
    epoch = current;
    if (current !== null) return true;
    if (isLookPlanned) return false;
    isLookPlanned = true;
    clock.after(LOOK_AGAIN_MS, () => {
      isLookPlanned = false;
      wakeUp.soon();
    });
    return false;
  }

  function sendAll(): void {
    // Read once a turn: two dozen readings a delivery would be a twentieth of its cost.
    const now = clock.monotonic();
    const wallNow = clock.now();
    let [count, bytes] = [0, 0];
    for (const health of HEALTH_LEVELS) {
      const turns = agenda.toSend[health];
      while (turns.size > 0 && recorder.waiting < MAX_UNCOMMITTED && !slots.full(health)) {
        const lane = turns.next();
        if (lane === null) break;
        // One that has another health by now gets in line with its like.
        if (lane.health === health) {
          count++;
          bytes += sendOne(lane, health, now);
        }
        agenda.consider(lane, now, wallNow);
        if (count >= SENT_A_TURN || bytes >= BYTES_A_TURN) {
          wakeUp.soon();
          return;
        }
      }
    }
  }

  /** Bytes of the body that was sent. */
  function sendOne(lane: Lane, health: Health, now: number): number {
    const { target } = lane;
    if (target === null || !lane.maySend(now, slots.perEndpoint(health))) return 0;
    const delivery = lane.depart(now);
    if (delivery === null) return 0;
    new Flight(flights, { lane, target, delivery, kind: 'queued', health, onOver: null }).depart();
    return delivery.end - delivery.start;
  }

  wakeUp.listen(answer);
  return {
    drain: () =>
      new Promise((resolve) => {
        drained = resolve;
        agenda.stop();
        wakeUp.soon();
      }),
  };
}
