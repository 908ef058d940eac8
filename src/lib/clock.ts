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

/** An RFC 3339 date-time as Unix milliseconds, or NaN where it is none. */
export function fromIso(text: string): number {
  return Date.parse(text);
}
