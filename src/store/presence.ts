import type { Clock, Timer } from '../lib/clock.ts';
import { systemRandom } from '../lib/random.ts';
import { BEAT_MS } from './changes/processes.ts';

/** By which other processes on the same storage see that this one lives. */
export interface Presence {
  /** The name that it holds leases and keys under, which tells it from every other; resolves once others can see it. */
  name(): Promise<string>;
  /**
   * Null where others may take it for dead, and so may send what it holds. A number else, another one after each such time: what was
   * taken on before may be somebody else's.
   */
  epoch(): number | null;
  /** What it still holds is free for others. */
  end(): Promise<void>;
}

const NAME_BYTES = 8;
/** Others take a process for dead after 20 s: the rest is for clocks that differ, and for what is on its way. */
const SURE_MS = 12_000;

/** A row with a heartbeat, written from the first time that the name is asked for: commands hold nothing. */
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

  /** The next one begins when this one has ended: while the storage is slow, they do not pile up. */
  async function beat(): Promise<void> {
    timer?.cancel();
    const at = clock.monotonic();
    try {
      await changes.beat(name, clock.now());
      if (at - heardAt >= SURE_MS) epoch++;
      heardAt = at;
    } finally {
      // The watch of the storage reports what is wrong.
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
      if (shown !== null) await changes.leave(name).catch(() => undefined); // it is silent soon
    },
  };
}

/** The one process that has a storage of its own. */
export const ALONE: Presence = { name: async () => 'alone', epoch: () => 0, end: async () => undefined };
