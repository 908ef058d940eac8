import { LRUCache } from 'lru-cache';
import { type Clock, DAY_MS } from '../lib/clock.ts';
import { createSharedLimit } from '../lib/queues.ts';
import type { HostHold } from '../store/source-store.ts';
import { PutOff, SourceFault } from './source-item.ts';

/** The terms of a request. */
export interface Passage {
  /** The tenant on whose behalf it is sent: tenants take turns at a host. Empty: none. */
  owner: string;
  /** Further scopes whose holds apply, besides that of the whole host: a method, an API key. */
  scopes: readonly string[];
  /** Aborted when the run's time is up. */
  signal: AbortSignal | null;
  /** If false, the request is postponed instead of waiting, so that it does not occupy a slot. */
  mayWait: boolean;
}

/** Limits requests to one per host at a time, paced as the host requires, and none while it is on hold. */
export interface HostGate {
  /**
   * Runs `request` when it is its owner's turn at the host, after that owner's earlier ones: redirects lead requests of many
   * sources to the host of another tenant's.
   * @throws SourceFault if the host is on hold, PutOff if the request would have to wait and may not
   */
  enter<T>(host: string, passage: Passage, request: () => Promise<T>): Promise<T>;
  /** Blocks requests to a host until a given time. */
  hold(hold: HostHold): void;
  /** Sets the minimum time between two requests; 0: none. */
  pace(host: string, delayMs: number): void;
}

/** Maximum pause, whatever a host asks for. */
export const MAX_PAUSE_MS = DAY_MS;
/** Maximum wait of a request within its run, whatever pace the host requires. */
const MAX_WAIT_MS = 60_000;
/** Maximum number of hosts whose hold or pace is remembered. */
const MAX_KNOWN = 10_000;
/** Holds beyond the maximum are removed in bulk: scanning all of them for each new one blocked a restart with 15,000 holds for 0.5 s. */
const FORGOTTEN_AT_ONCE = 1_000;

export function createHostGate(clock: Clock): HostGate {
  /** Hosts with requests, in progress or waiting. */
  const lines = new Map<string, { limit: ReturnType<typeof createSharedLimit>; requests: number }>();
  /** End of each hold, in monotonic time. */
  const holds = new Map<string, number>();
  const paces = new LRUCache<string, { delayMs: number; nextAt: number }>({ max: MAX_KNOWN });

  async function inTurn<T>(host: string, owner: string, request: () => Promise<T>): Promise<T> {
    const line = lines.get(host) ?? { limit: createSharedLimit(1), requests: 0 };
    lines.set(host, line);
    line.requests++;
    try {
      return await line.limit(owner, request);
    } finally {
      line.requests--;
      if (line.requests === 0) lines.delete(host);
    }
  }

  function refuseHeld(host: string, scopes: readonly string[]): void {
    for (const key of ['', ...scopes].map((scope) => keyOf(host, scope))) {
      const restMs = (holds.get(key) ?? 0) - clock.monotonic();
      if (restMs <= 0) {
        holds.delete(key);
        continue;
      }
      const message = `${host} asked for fewer requests. It is read again after the requested pause.`;
      throw new SourceFault('rate_limited', message, clock.now() + Math.ceil(restMs));
    }
  }

  /** Removes expired holds, and of those in force the ones that end first. */
  function forgetHolds(): void {
    const now = clock.monotonic();
    for (const [key, end] of holds) if (end <= now) holds.delete(key);
    const soonest = [...holds].sort(([, a], [, b]) => a - b).slice(0, Math.max(0, holds.size - MAX_KNOWN));
    for (const [key] of soonest) holds.delete(key);
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
      const mine = inTurn(host, passage.owner, async () => {
        passage.signal?.throwIfAborted();
        refuseHeld(host, passage.scopes);
        await keepPace(host, passage);
        try {
          return await request();
        } finally {
          ended(host);
        }
      });
      return passage.signal === null ? mine : orAborted(mine, passage.signal);
    },
    hold({ host, scope, until }) {
      const key = keyOf(host, scope);
      const end = clock.monotonic() + Math.min(until - clock.now(), MAX_PAUSE_MS);
      holds.set(key, Math.max(end, holds.get(key) ?? end));
      if (holds.size > MAX_KNOWN + FORGOTTEN_AT_ONCE) forgetHolds();
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

/** Resolves like `work`, or rejects with the signal's reason as soon as it is aborted. */
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
