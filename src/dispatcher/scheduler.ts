import type { Clock } from '../lib/clock.ts';
import type { Store } from '../store/store.ts';
import type { Agenda, WakeUp } from './agenda.ts';
import type { Claimer } from './claim.ts';
import { Flight, type FlightDeps } from './flight.ts';
import type { Lane } from './lane.ts';
import type { OutcomeRecorder } from './recorder.ts';
import { HEALTH_LEVELS, type Health, type Slots } from './slots.ts';

/** Number of outcomes waiting for their commit at which sending pauses. */
const MAX_UNCOMMITTED = 2_048;

/**
 * Maximum number of requests sent in one turn of the event loop: a few milliseconds, mostly for signing and
 * for writing to sockets. Each API request waits for several turns.
 */
const SENT_A_TURN = 32;
const BYTES_A_TURN = 1_048_576;

/** Reacts to each wake-up by sending and claiming what is possible. */
export interface Scheduler {
  /** Stops starting requests; resolves when nothing is in flight and every outcome is stored. */
  drain(): Promise<void>;
}

/** Interval of checks whether sending may resume. */
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
  /** How often everything is being given back; nothing is sent meanwhile. */
  let givingBack = 0;
  let drained: (() => void) | null = null;

  function answer(): void {
    if (drained === null) {
      if (mayHold()) sendAll();
      claimer.run();
    } else if (slots.taken === 0 && recorder.waiting === 0) drained();
  }

  /**
   * Whether this process may send. After it was suspended, others may send what it held: it gives everything
   * up and claims it again.
   */
  function mayHold(): boolean {
    const current = store.epoch();
    if (current !== epoch) void giveBackAll();
    epoch = current;
    if (givingBack > 0) return false;
    if (current !== null) return true;
    if (isLookPlanned) return false;
    isLookPlanned = true;
    clock.after(LOOK_AGAIN_MS, () => {
      isLookPlanned = false;
      wakeUp.soon();
    });
    return false;
  }

  async function giveBackAll(): Promise<void> {
    givingBack++;
    await agenda.giveBackAll();
    givingBack--;
    wakeUp.soon();
  }

  function sendAll(): void {
    // Read once per turn: two dozen readings per delivery would be a twentieth of its cost.
    const now = clock.monotonic();
    const wallNow = clock.now();
    let [count, bytes] = [0, 0];
    for (const health of HEALTH_LEVELS) {
      const turns = agenda.toSend[health];
      while (turns.size > 0 && recorder.waiting < MAX_UNCOMMITTED && !slots.full(health)) {
        const lane = turns.next(slots.hasRoomFor);
        if (lane === null) break;
        // A lane whose health has changed is queued again.
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

  /** Returns the number of bytes of the body that was sent. */
  function sendOne(lane: Lane, health: Health, now: number): number {
    const { target } = lane;
    if (target === null || !lane.maySend(now, slots.perEndpoint(health, lane.tenantId))) return 0;
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
