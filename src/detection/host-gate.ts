import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import type { HostHold } from '../store/source-store.ts';
import { PutOff, SourceFault } from './source-item.ts';

/** Who asks, and how long it may wait. */
export interface Passage {
  /** What else than the whole host may be on hold for it: a method, a key. */
  scopes: readonly string[];
  /** Aborted when the run's time is over. */
  signal: AbortSignal | null;
  /** False: rather than wait for its time it is put off, so that it holds no place meanwhile. */
  mayWait: boolean;
}

/** One request per host at a time, with the time between them that it wants, and none while it asked to be left alone. */
export interface HostGate {
  /**
   * Runs `request` when the ones before it to the same host have ended.
   * @throws SourceFault where the host is on hold, PutOff where it would have to wait and may not
   */
  enter<T>(host: string, passage: Passage, request: () => Promise<T>): Promise<T>;
  /** No request goes there before `until`. */
  hold(hold: HostHold): void;
  /** So much time must pass between two requests; 0: none. */
  pace(host: string, delayMs: number): void;
}

/** The most that a request waits within its run, however slow a pace the site wants. */
const MAX_WAIT_MS = 60_000;
/** Hosts with a hold or a pace of their own that are remembered. */
const MAX_KNOWN = 10_000;

export function createHostGate(clock: Clock): HostGate {
  const last = new Map<string, Promise<unknown>>();
  /** Until when, of the time that is never set. */
  const holds = new Map<string, number>();
  const paces = new LRUCache<string, { delayMs: number; nextAt: number }>({ max: MAX_KNOWN });

  function refuseHeld(host: string, scopes: readonly string[]): void {
    for (const key of ['', ...scopes].map((scope) => keyOf(host, scope))) {
      const restMs = (holds.get(key) ?? 0) - clock.monotonic();
      if (restMs <= 0) {
        holds.delete(key);
        continue;
      }
      const message = `${host} asked for fewer requests; it is read again when the pause it asked for is over.`;
      throw new SourceFault('rate_limited', message, clock.now() + Math.ceil(restMs));
    }
  }

  /** Those that are over, and where all are in force the one that ends soonest. */
  function forgetHolds(): void {
    const now = clock.monotonic();
    let soonest = { key: '', end: Number.POSITIVE_INFINITY };
    for (const [key, end] of holds) {
      if (end <= now) holds.delete(key);
      else if (end < soonest.end) soonest = { key, end };
    }
    if (holds.size > MAX_KNOWN) holds.delete(soonest.key);
  }

  async function keepPace(host: string, { mayWait, signal }: Passage): Promise<void> {
    const waitMs = (paces.get(host)?.nextAt ?? 0) - clock.monotonic();
    if (waitMs <= 0) return;
    if (!mayWait) throw new PutOff(clock.now() + waitMs);
    await pause(clock, Math.min(waitMs, MAX_WAIT_MS), signal);
  }

  function ended(host: string): void {
    const pace = paces.get(host);
    if (pace !== undefined) pace.nextAt = clock.monotonic() + pace.delayMs;
  }

  return {
    async enter(host, passage, request) {
      const before = last.get(host) ?? Promise.resolve();
      const mine = before.then(async () => {
        passage.signal?.throwIfAborted();
        refuseHeld(host, passage.scopes);
        await keepPace(host, passage);
        try {
          return await request();
        } finally {
          ended(host);
        }
      });
      const settled = mine.catch(() => {}); // who comes next waits for the end, whatever it was
      last.set(host, settled);
      void settled.then(() => {
        if (last.get(host) === settled) last.delete(host);
      });
      return passage.signal === null ? mine : orAborted(mine, passage.signal);
    },
    hold({ host, scope, until }) {
      const key = keyOf(host, scope);
      const end = clock.monotonic() + until - clock.now();
      holds.set(key, Math.max(end, holds.get(key) ?? end));
      if (holds.size > MAX_KNOWN) forgetHolds();
    },
    pace(host, delayMs) {
      if (delayMs <= 0) {
        paces.delete(host);
        return;
      }
      paces.set(host, { delayMs, nextAt: clock.monotonic() + delayMs });
    },
  };
}

function keyOf(host: string, scope: string): string {
  return `${host} ${scope}`;
}

/** What `work` comes to, or the signal's reason as soon as it is aborted. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function pause(clock: Clock, ms: number, signal: AbortSignal | null): Promise<void> {
  const wait = new Promise<void>((resolve) => void clock.after(ms, resolve));
  return signal === null ? wait : orAborted(wait, signal);
}
