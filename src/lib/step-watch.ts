import type { Clock } from './clock.ts';

/** A smaller difference is the machine's clock being slewed, and is taken as it comes. */
const STEP_MS = 2_000;

/**
 * The same clock, telling `onStep` by how much wall time jumped against the monotonic one, before anybody sees the new
 * time: what is planned by wall time can be moved along, instead of falling due at once or an hour late.
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
