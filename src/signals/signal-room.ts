import { createFairQueue, createLimits } from '../lib/queues.ts';
import { DomainError } from '../model/errors.ts';
import type { Receiver } from '../store/endpoint-store.ts';

/** Planned signals that are in memory at once, until they are stored. */
export interface RoomLimits {
  /** Fewer of one piece of work are not counted: all of the second largest plan's profiles. */
  free: number;
  /** No more work of an owner begins while its work has this many; a larger piece counts as this many. */
  ofOwner: number;
  ofAll: number;
  /** Further work of an owner is refused while its waiting work has this many. */
  waiting: number;
}

/**
 * A signal takes up to 22 KB with its explanation. A thousand profiles that all match made 22 MB of one post: with 150 posts at once, a
 * process with a heap of 700 MB ended after 18 s.
 */
const LIMITS: RoomLimits = { free: 100, ofOwner: 1_500, ofAll: 6_000, waiting: 15_000 };
const RETRY_SECONDS = 10;

/** Deliveries, and bytes of payload formats, that take as much memory as a signal. Formats are escaped once more in an event's later parts. */
const [DELIVERIES_OF_A_SIGNAL, FORMAT_BYTES_OF_A_SIGNAL] = [20, 10_000];

/**
 * The number of signals that take as much memory as the deliveries of one commit: the events of a piece of work are created commit by
 * commit. Two dozen posts at once for ten thousand endpoints with formats of their own ended a process with a heap of 1 GB, and with 160 for
 * formats of 8 MB, memory grew to 2 GB in 40 s.
 */
export function roomOfCommit(receivers: readonly Pick<Receiver, 'shape'>[]): number {
  const formatBytes = receivers.reduce((sum, { shape }) => sum + (shape?.formatBytes ?? 0), 0);
  return Math.floor(receivers.length / DELIVERIES_OF_A_SIGNAL + formatBytes / FORMAT_BYTES_OF_A_SIGNAL);
}

/** Room for the signals of one piece of work, and besides for its deliveries, which do not add up. */
export interface RoomLease {
  /** Whether there is room at once. */
  tryTake(signals: number, besides?: number): boolean;
  /** Waits for room. @throws DomainError `UNAVAILABLE` if too much of the owner's work waits already, unless it `waits` */
  take(signals: number, besides?: number): Promise<void>;
  end(): void;
}

export interface SignalRoom {
  lease(owner: string, terms: { waits: boolean }): RoomLease;
}

export function createSignalRoom(limits = LIMITS): SignalRoom {
  const queue = createFairQueue<() => void>();
  const usedBy = new Map<string, number>();
  const waitingOf = new Map<string, number>();
  let used = 0;

  const hasRoom = (owner: string) => used < limits.ofAll && (usedBy.get(owner) ?? 0) < limits.ofOwner;

  function add(owner: string, signals: number): void {
    used += signals;
    addTo(usedBy, owner, signals);
  }

  function workOff(): void {
    for (;;) {
      const next = queue.next((owner) => (hasRoom(owner) ? 0 : null));
      if (next === undefined) return;
      next();
    }
  }

  return {
    lease(owner, { waits }) {
      let held = 0;
      let heldBesides = 0;
      let hasEnded = false;

      function hold(signals: number, besides: number): void {
        if (hasEnded) return;
        held += signals;
        heldBesides = Math.max(heldBesides, besides);
        add(owner, signals);
      }

      const sum = (signals: number, besides: number) =>
        Math.min(signals + Math.max(0, besides - heldBesides), limits.ofOwner);

      function tryTake(signals: number, besides = 0): boolean {
        const taken = sum(signals, besides);
        const counted = taken <= limits.free ? 0 : taken;
        // Work that has room goes on: it would wait for itself.
        if (held === 0 && counted > 0 && !hasRoom(owner)) return false;
        hold(counted, counted === 0 ? 0 : besides);
        return true;
      }

      return {
        tryTake,
        async take(signals, besides = 0) {
          if (tryTake(signals, besides)) return;
          if (!waits && (waitingOf.get(owner) ?? 0) >= limits.waiting) throw full();
          const taken = sum(signals, besides);
          addTo(waitingOf, owner, taken);
          await new Promise<void>((resolve) =>
            queue.push(owner, () => {
              addTo(waitingOf, owner, -taken);
              hold(taken, besides);
              resolve();
            }),
          );
        },
        end() {
          if (hasEnded) return;
          hasEnded = true;
          add(owner, -held);
          workOff();
        },
      };
    },
  };
}

function addTo(counts: Map<string, number>, owner: string, count: number): void {
  const sum = (counts.get(owner) ?? 0) + count;
  if (sum === 0) counts.delete(owner);
  else counts.set(owner, sum);
}

function full(): DomainError {
  const detail =
    'Too many posts or changes that match more than a hundred profiles or reach thousands of webhook endpoints are being processed. Nothing was changed.';
  return new DomainError('UNAVAILABLE', detail, {
    hint: `Wait ${RETRY_SECONDS} seconds (Retry-After), then try again; send them one after the other.`,
    retryAfterSeconds: RETRY_SECONDS,
  });
}

/** That of this process, whose memory all tenants share. */
export const signalRoom = createSignalRoom();

/** Posts of one account that are compared with more than a hundred profiles at once: the places found in a post take up to 5 MB. */
const fewAtOnce = createLimits(4);

/** Compares posts of an owner with its profiles, a few at once if there are many. */
export function readFew<T>(owner: string, profiles: number, read: () => Promise<T>): Promise<T> {
  return profiles > LIMITS.free ? fewAtOnce(owner, read) : read();
}
