export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** A pending call made by {@link Clock.after}; cancelling twice is harmless. */
export interface Timer {
  cancel(): void;
}

/** Time as a dependency, so that tests drive it by hand. */
export interface Clock {
  /** Wall time, Unix milliseconds. May step when the machine's clock is set. */
  now(): number;
  /** Milliseconds since an arbitrary origin; never steps. For durations and deadlines. */
  monotonic(): number;
  /** Calls `fn` once after at least `ms` milliseconds, without keeping the process alive. */
  after(ms: number, fn: () => void): Timer;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fn) {
    const handle = setTimeout(fn, ms);
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Unix milliseconds as RFC 3339 UTC with milliseconds, the one time format of every API. */
export function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

/** Unix milliseconds as an HTTP date (RFC 9110, section 5.6.7), to the second. */
export function toHttpDate(ms: number): string {
  return new Date(ms).toUTCString();
}

/**
 * Parses `Retry-After` (RFC 9110, section 10.2.3: seconds or an HTTP date) into milliseconds from `now`, at
 * least 0; null if it is absent or malformed.
 */
export function readRetryAfter(value: string | string[] | undefined, now: number): number | null {
  const text = [value ?? ''].flat()[0]?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * SECOND_MS;
  const date = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(date - now, 0);
}

/** Parses an RFC 3339 date-time into Unix milliseconds; NaN if it is malformed. */
export function fromIso(text: string): number {
  return Date.parse(text);
}

/** Smaller differences are slewing of the system clock, and are accepted silently. */
const STEP_MS = 2_000;

/**
 * Wraps a clock and calls `onStep` with the size of each jump of wall time against monotonic time, before
 * returning the new time. Callers can then shift what they have scheduled by wall time, which would otherwise
 * run at once or an hour late.
 */
export function watchSteps(clock: Clock, onStep: (deltaMs: number) => void): Clock {
  let offset = clock.now() - clock.monotonic();
  return {
    now() {
      const now = clock.now();
      const deltaMs = now - clock.monotonic() - offset;
      offset += deltaMs; // slow corrections must not add up to a step
      if (Math.abs(deltaMs) >= STEP_MS) onStep(Math.round(deltaMs));
      return now;
    },
    monotonic: () => clock.monotonic(),
    after: (ms, fn) => clock.after(ms, fn),
  };
}
