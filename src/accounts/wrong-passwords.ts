import type { Clock } from '../lib/clock.ts';

const WINDOW_MS = 15 * 60_000;
/** Beyond so many the oldest are forgotten: the counts of a flood must not fill the memory. */
const MOST_KEYS = 20_000;

/** Counts tries of passwords, and says when there were too many. */
export interface WrongPasswords {
  /** Counts a try before it is made; milliseconds to wait where there were too many, else null. */
  take(email: string, client: string): number | null;
  /** The try was right: it and what went before from there counts no more. */
  forgive(email: string, client: string): void;
}

/** Tries in 15 minutes: at one name from one client, at one name from anywhere, from one client. */
interface TryLimits {
  pair: number;
  email: number;
  client: number;
}

const PASSWORDS: TryLimits = { pair: 5, email: 50, client: 50 };
/** Who tries codes has the password. Three of a million codes count at a time: ten tries hit one with 0.003 %. */
export const CODE_TRIES: TryLimits = { pair: 5, email: 10, client: 50 };
/** A mail each: nobody's mailbox is filled by strangers. */
export const RESET_TRIES: TryLimits = { pair: 3, email: 5, client: 20 };

/** Names that nobody has are counted like those that somebody has, so that being refused tells nothing. */
export function createWrongPasswords(clock: Clock, limits = PASSWORDS): WrongPasswords {
  const counts = new Map<string, { count: number; endsAt: number }>();

  function look(key: string): { count: number; endsAt: number } {
    const now = clock.monotonic();
    const known = counts.get(key);
    if (known !== undefined && known.endsAt > now) return known;
    const fresh = { count: 0, endsAt: now + WINDOW_MS };
    counts.delete(key);
    counts.set(key, fresh);
    const oldest = counts.size > MOST_KEYS ? counts.keys().next().value : undefined;
    if (oldest !== undefined) counts.delete(oldest);
    return fresh;
  }

  function keysOf(email: string, client: string) {
    const name = email.trim().toLowerCase().slice(0, 254);
    return [
      { key: `pair ${client} ${name}`, limit: limits.pair },
      { key: `email ${name}`, limit: limits.email },
      { key: `client ${client}`, limit: limits.client },
    ];
  }

  return {
    take(email, client) {
      const windows = keysOf(email, client).map(({ key, limit }) => ({ window: look(key), limit }));
      const full = windows.filter(({ window, limit }) => window.count >= limit);
      const ends = full.map(({ window }) => window.endsAt - clock.monotonic());
      if (ends.length > 0) return Math.max(...ends);
      for (const { window } of windows) window.count++;
      return null;
    },
    forgive(email, client) {
      for (const { key } of keysOf(email, client).slice(0, 1)) counts.delete(key);
      for (const { key } of keysOf(email, client).slice(1)) {
        const window = look(key);
        window.count = Math.max(0, window.count - 1);
      }
    },
  };
}
