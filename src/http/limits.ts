import { isIP, isIPv4 } from 'node:net';
import { normalizeIP } from '@fastify/rate-limit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../lib/clock.ts';

/** Length of every rate-limit window. */
export const WINDOW_MS = 60_000;
const IPV6_PREFIX = 64;

/** What one request did to its window. */
export interface Taken {
  limit: number;
  remaining: number;
  /** When the window ends, Unix epoch seconds. */
  resetSeconds: number;
  /** Null where the request is let through, else whole seconds until one will be. */
  retryAfterSeconds: number | null;
}

/** Counts requests by key in fixed windows that begin with a key's first request. */
export interface RateLimiter {
  take(key: string, limit: number): Taken;
}

interface Window {
  count: number;
  /** Monotonic, so that setting the machine's clock neither opens nor locks a window. */
  endsAt: number;
  resetSeconds: number;
}

/**
 * A counter of our own behind @fastify/rate-limit's key rule. Its `createRateLimit()` tells the rest of a window from
 * `Date.now()` at each call, so that a reset in whole seconds wavers by one within a window and no test can drive it;
 * it forgets clients beyond the 5,000 seen last, and costs a promise for each request.
 *
 * Windows live in two generations, each filled for one window's length: when the younger is that old, nothing in the
 * elder can still be open, and it is dropped whole. Memory is bounded by the clients of the last two minutes.
 */
export function createRateLimiter(clock: Clock): RateLimiter {
  let young = new Map<string, Window>();
  let old = new Map<string, Window>();
  let turnsAt = clock.monotonic() + WINDOW_MS;

  function windowOf(key: string, now: number): Window {
    if (now >= turnsAt) {
      old = now >= turnsAt + WINDOW_MS ? new Map() : young;
      young = new Map();
      turnsAt = now + WINDOW_MS;
    }
    const found = young.get(key) ?? old.get(key);
    if (found !== undefined && now < found.endsAt) return found;
    const opened: Window = {
      count: 0,
      endsAt: now + WINDOW_MS,
      resetSeconds: Math.ceil((clock.now() + WINDOW_MS) / 1000),
    };
    young.set(key, opened);
    return opened;
  }

  return {
    take(key, limit) {
      const now = clock.monotonic();
      const window = windowOf(key, now);
      window.count++;
      const exceeded = window.count > limit;
      return {
        limit,
        remaining: exceeded ? 0 : limit - window.count,
        resetSeconds: window.resetSeconds,
        retryAfterSeconds: exceeded ? Math.ceil((window.endsAt - now) / 1000) : null,
      };
    },
  };
}

/** The four headers that every API answer carries. */
export function setLimitHeaders(reply: FastifyReply, taken: Taken): void {
  reply.header('ratelimit-limit', String(taken.limit));
  reply.header('ratelimit-remaining', String(taken.remaining));
  reply.header('ratelimit-reset', String(taken.resetSeconds));
  reply.header('ratelimit-policy', `${taken.limit};w=60`);
}

/** Whom a request without a key counts for: its IPv4 address, or its IPv6 network of 64 bits, which one user holds. */
export function clientOf(request: FastifyRequest): string {
  const address = request.ip;
  if (isIPv4(address)) return address;
  // A trusted proxy may pass on anything at all as an address; then the proxy's own counts.
  const known = isIP(address) === 0 ? (request.socket.remoteAddress ?? '') : address;
  return normalizeIP(known.replace(/%.*$/, ''), IPV6_PREFIX);
}

/** Says what to do about an exceeded limit. */
export function rateLimited(taken: Taken) {
  const seconds = taken.retryAfterSeconds ?? 0;
  return {
    code: 'RATE_LIMITED',
    detail: `The limit of ${taken.limit} requests per 60 seconds is exceeded.`,
    extra: {
      hint: `Wait ${seconds} second${seconds === 1 ? '' : 's'} (Retry-After), then try again.`,
      retryAfterSeconds: seconds,
    },
  } as const;
}
