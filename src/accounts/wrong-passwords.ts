import type { Clock } from '../lib/clock.ts';
import { largestOf } from '../lib/lists.ts';
import { createWindows } from '../lib/windows.ts';

const WINDOW_MS = 15 * 60_000;

/** Counts tries of passwords, and says when there were too many. */
export interface WrongPasswords {
  /** Counts a try before it is made. Where there were too many nothing is counted, and it says how long to wait. */
  take(email: string, client: string): Wait | null;
  /** The try was right: it and what went before from there counts no more. */
  forgive(email: string, client: string): void;
}

/** The refusal of a try. */
export interface Wait {
  ms: number;
  /** Whether it is the first that this window refuses: the moment in which the door was locked. */
  isFirst: boolean;
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
/** Each sends a mail: strangers must not be able to fill a mailbox. */
export const RESET_TRIES: TryLimits = { pair: 3, email: 5, client: 20 };

/**
 * Names that nobody has are counted like those that somebody has, so that being refused tells nothing. A refused try makes
 * no window, and no open window is dropped for others: neither frees a name that was tried too often.
 */
export function createWrongPasswords(clock: Clock, limits = PASSWORDS): WrongPasswords {
  const windows = createWindows(clock, WINDOW_MS);

  function keysOf(email: string, client: string) {
    const name = email.trim().toLowerCase().slice(0, 254);
    return {
      pair: `pair ${client} ${name}`,
      email: `email ${name}`,
      client: `client ${client}`,
    };
  }

  return {
    take(email, client) {
      const keys = keysOf(email, client);
      const names = ['pair', 'email', 'client'] as const;
      const full = names
        .map((name) => ({ window: windows.find(keys[name]), limit: limits[name] }))
        .flatMap(({ window, limit }) => (window !== null && window.count >= limit ? [window] : []));
      if (full.length > 0) {
        const isFirst = full.some(({ isTold }) => !isTold);
        for (const window of full) window.isTold = true;
        return { ms: largestOf(full.map(windows.left)), isFirst };
      }
      for (const name of names) windows.open(keys[name]).count++;
      return null;
    },
    forgive(email, client) {
      const { pair, ...others } = keysOf(email, client);
      const own = windows.find(pair);
      if (own !== null) own.count = own.isShared ? Math.max(0, own.count - 1) : 0;
      for (const key of Object.values(others)) {
        const window = windows.find(key);
        if (window !== null && window.count > 0) window.count--;
      }
    },
  };
}
