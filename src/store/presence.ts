import type { Clock, Timer } from '../lib/clock.ts';
import { systemRandom } from '../lib/random.ts';
import { BEAT_MS } from './changes/processes.ts';

/** Shows other processes on the same storage that this one is alive. */
export interface Presence {
  /** The unique name under which it holds leases and keys; resolves once others can see it. */
  name(): Promise<string>;
  /**
   * Null if others may consider this process dead, and so may send what it holds. Otherwise a number that changes
   * after each such period: anything claimed before may belong to another process.
   */
  epoch(): number | null;
  /** Releases everything it still holds. */
  end(): Promise<void>;
}

const NAME_BYTES = 8;
/** Others consider a process dead after 20 s: the difference allows for clock skew and for requests in progress. */
const SURE_MS = 12_000;

/** A row with a heartbeat, written from the first call of `name` on: commands hold nothing. */
export function createPresence(
  clock: Clock,
  changes: { beat(process: string, now: number): Promise<void>; leave(process: string): Promise<void> },
): Presence {
  const name = systemRandom.bytes(NAME_BYTES).toString('hex');
  let shown: Promise<string> | null = null;
  let timer: Timer | null = null;
  let isOver = false;
  let heardAt = Number.NEGATIVE_INFINITY;
  let epoch = 0;

  /**
   * The next heartbeat is scheduled when this one has ended, so that they do not pile up while the storage is slow.
   */
  async function beat(): Promise<void> {
    timer?.cancel();
    const at = clock.monotonic();
    try {
      await changes.beat(name, clock.now());
      if (at - heardAt >= SURE_MS) epoch++;
      heardAt = at;
    } finally {
      // Errors are reported by the storage watch.
      if (!isOver) timer = clock.after(BEAT_MS, () => void beat().catch(() => undefined));
    }
  }

  return {
    name() {
      shown ??= beat().then(
        () => name,
        (error: unknown) => {
          shown = null;
          throw error;
        },
      );
      return shown;
    },
    epoch: () => (clock.monotonic() - heardAt < SURE_MS ? epoch : null),
    async end() {
      isOver = true;
      timer?.cancel();
      if (shown !== null) await changes.leave(name).catch(() => undefined); // without it, it expires soon
    },
  };
}

/** For the only process on its storage. */
export const ALONE: Presence = { name: async () => 'alone', epoch: () => 0, end: async () => undefined };
