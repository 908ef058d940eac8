import type { Clock } from '../lib/clock.ts';
import { SourceFault } from './source-fault.ts';

/** One request per host at a time, and none while a host asked to be left alone. */
export interface HostGate {
  /** Runs `request` when the ones before it to the same host have ended. @throws SourceFault where the host is on hold */
  enter<T>(host: string, request: () => Promise<T>): Promise<T>;
  /** No request goes to the host before `until`, Unix milliseconds. */
  hold(host: string, until: number): void;
}

/** Hosts that asked for a pause are remembered up to this many; their sources remember it themselves. */
const MAX_HELD = 10_000;

export function createHostGate(clock: Clock): HostGate {
  const last = new Map<string, Promise<unknown>>();
  const heldUntil = new Map<string, number>();

  function refuseHeld(host: string): void {
    const until = heldUntil.get(host) ?? 0;
    if (until > clock.now())
      throw new SourceFault(
        'rate_limited',
        `${host} asked for fewer requests; waiting as long as it said.`,
        until,
      );
    heldUntil.delete(host);
  }

  return {
    async enter(host, request) {
      const before = last.get(host) ?? Promise.resolve();
      const mine = before.then(() => {
        refuseHeld(host);
        return request();
      });
      const settled = mine.catch(() => {}); // who comes next waits for the end, whatever it was
      last.set(host, settled);
      try {
        return await mine;
      } finally {
        if (last.get(host) === settled) last.delete(host);
      }
    },
    hold(host, until) {
      if (heldUntil.size >= MAX_HELD) heldUntil.clear();
      heldUntil.set(host, Math.max(until, heldUntil.get(host) ?? 0));
    },
  };
}
