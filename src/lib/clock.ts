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

/** A smaller difference is the machine's clock being slewed, and is taken as it comes. */
const STEP_MS = 2_000;

/**
 * The same clock, calling `onStep` with the amount by which wall time jumped against the monotonic one, before the new time is
 * used: what is planned by wall time can be shifted, instead of falling due at once or an hour late.
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
