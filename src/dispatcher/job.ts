import type { AttemptRecord, ClaimedDelivery } from '../model/delivery.ts';
import type { AttemptWatch, LaneTarget } from './attempt.ts';
import type { Lane } from './lanes.ts';
import type { SendResult } from './send.ts';

/** What is sent, and for whom. */
export interface JobTerms {
  lane: Lane;
  target: LaneTarget;
  delivery: ClaimedDelivery;
  /** Whether it probes a paused endpoint. */
  probe: boolean;
  /** Called when its outcome is stored. */
  onLeft: (() => void) | null;
}

/** Who a job answers to. */
export interface JobOwner {
  mayRepeat(job: Job): boolean;
  land(job: Job, record: AttemptRecord, result: SendResult): void;
}

/** One delivery on its way. A class: closures over all this would be made anew for every delivery. */
export class Job implements AttemptWatch {
  readonly lane: Lane;
  readonly target: LaneTarget;
  readonly delivery: ClaimedDelivery;
  readonly probe: boolean;
  readonly onLeft: (() => void) | null;
  /** See {@link Places.take}. */
  readonly place: number;
  readonly #owner: JobOwner;

  constructor({ lane, target, delivery, probe, onLeft }: JobTerms, place: number, owner: JobOwner) {
    this.lane = lane;
    this.target = target;
    this.delivery = delivery;
    this.probe = probe;
    this.onLeft = onLeft;
    this.place = place;
    this.#owner = owner;
  }

  mayRepeat(): boolean {
    return this.#owner.mayRepeat(this);
  }

  done(record: AttemptRecord, result: SendResult): void {
    this.#owner.land(this, record, result);
  }
}
