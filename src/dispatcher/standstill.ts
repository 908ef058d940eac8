import type { Clock } from '../lib/clock.ts';

/** Notices a dispatcher that does nothing although there is something to do. */
export interface Standstill {
  /** A look around has begun, and ended. */
  lookBegins(): void;
  lookEnds(): void;
  /** Why nothing moves, or null. */
  reason(): string | null;
}

export interface StandstillParts {
  clock: Clock;
  /** Lanes in line for what they could do at once. */
  inLine(): number;
  /** A number that grows with all that is done. */
  done(): number;
}

/** Longer than the store makes anybody wait, and than a receiver may take. */
const PATIENCE_MS = 60_000;

/**
 * Looked at with every look around (15 s), so that attempts pay nothing for it. A lane is in line for a moment only, unless
 * all slots are taken; those who hold them give them back within 30 s, and that counts as done.
 */
export function createStandstill({ clock, inLine, done }: StandstillParts): Standstill {
  let lookSince: number | null = null;
  let idleSince: number | null = null;
  let doneThen = -1;

  return {
    lookBegins() {
      const now = clock.monotonic();
      lookSince ??= now;
      const doneNow = done();
      if (inLine() === 0 || doneNow !== doneThen) idleSince = null;
      else idleSince ??= now;
      doneThen = doneNow;
    },
    lookEnds() {
      lookSince = null;
    },
    reason() {
      const now = clock.monotonic();
      if (lookSince !== null && now - lookSince > PATIENCE_MS) return 'the store does not tell what waits';
      if (idleSince !== null && now - idleSince > PATIENCE_MS) return 'deliveries are due, and none is sent';
      return null;
    },
  };
}
