import { isIP, isIPv4 } from 'node:net';
import rateLimit, {
  type CreateRateLimitOptions,
  type FastifyRateLimitStore,
  normalizeIP,
} from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { type Cidr, createAddressSet } from '../lib/network.ts';
import { createWindows } from '../lib/windows.ts';
import { DomainError } from '../model/errors.ts';
import type { Store } from '../store/store.ts';

const IPV6_PREFIX = 64;

/** The state of a window after a request was counted. */
export interface WindowState {
  limit: number;
  remaining: number;
  /** When the window ends, Unix epoch seconds. */
  resetSeconds: number;
  /** When the window ends, in milliseconds from now. */
  ttlMs: number;
  /** Null if the request is allowed; otherwise the seconds until the next one will be. */
  retryAfterSeconds: number | null;
}

/** One limit: the key that a request counts for, and the maximum per window. */
export interface Limit {
  keyOf(request: FastifyRequest): string;
  /** A number if it is the same for all keys, which saves the plugin a promise. */
  limitOf: number | ((request: FastifyRequest) => number);
  /** Shares the counts with other nodes, under a name; omitted: each node has its own windows. */
  shared?: { name: string; shareCounts: Store['shareCounts'] };
}

/** Counts requests against one limit. */
export interface Limiter {
  /** Counts the request. */
  take(request: FastifyRequest): Promise<WindowState>;
  /** Counts `more` for an already counted request: all of it or, if that exceeds the limit, nothing. */
  takeMore(request: FastifyRequest, more: number): WindowState;
}

/** The options that {@link createLimiter} passes to the plugin, which passes them on to its store. */
type LimitOptions = CreateRateLimitOptions & { windows: RateWindows };

/** The plugin creates one store, and asks it for a child store per limit. */
class StoreOfStores {
  incr(): void {
    throw new Error('each limit counts in windows of its own');
  }
  child(options: object): RateWindows {
    return (options as LimitOptions).windows;
  }
}

/**
 * Registers @fastify/rate-limit for `createRateLimit()`. Without its hooks, which miss 404 and 405, and without its
 * headers, whose reset is a duration instead of a time.
 */
export function addRateLimits(app: FastifyInstance): void {
  app.register(rateLimit, { global: false, timeWindow: WINDOW_MS, store: StoreOfStores });
}

/** A limiter for the hooks of `app`, on which {@link addRateLimits} has run. */
export function createLimiter(
  app: FastifyInstance,
  clock: Clock,
  { keyOf, limitOf, shared }: Limit,
): Limiter {
  const windows = createRateWindows(clock);
  const options: LimitOptions = { keyGenerator: keyOf, max: limitOf, windows };
  const count = app.createRateLimit(options);
  const share = shared?.shareCounts(shared.name, windows.count);

  return {
    async take(request) {
      const counted = await count(request);
      if (counted.isAllowed) throw new Error('unexpected: the allow-list is not used');
      const { resetSeconds, ttlMs } = windows.look(counted.key);
      if (!counted.isExceeded) share?.(counted.key, 1);
      return {
        limit: counted.max,
        remaining: counted.remaining,
        resetSeconds,
        ttlMs,
        retryAfterSeconds: counted.isExceeded ? counted.ttlInSeconds : null,
      };
    },
    takeMore(request, more) {
      const key = keyOf(request);
      const limit = typeof limitOf === 'number' ? limitOf : limitOf(request);
      const fits = windows.add(key, more, limit);
      if (fits) share?.(key, more);
      const { count: counted, resetSeconds, ttlMs } = windows.look(key);
      return {
        limit,
        remaining: Math.max(0, limit - counted),
        resetSeconds,
        ttlMs,
        retryAfterSeconds: fits ? null : Math.ceil(ttlMs / 1000),
      };
    },
  };
}

/**
 * The headers of every API response: those of the specification, whose reset is a time, and the `RateLimit` field of
 * the IETF draft (draft-ietf-httpapi-ratelimit-headers, version 8 and later), whose `t` is a duration.
 */
export function setLimitHeaders(reply: FastifyReply, taken: WindowState): void {
  reply.header('ratelimit-limit', String(taken.limit));
  reply.header('ratelimit-remaining', String(taken.remaining));
  reply.header('ratelimit-reset', String(taken.resetSeconds));
  reply.header('ratelimit-policy', `${taken.limit};w=60`);
  reply.header('ratelimit', `"default";r=${taken.remaining};t=${Math.ceil(taken.ttlMs / 1000)}`);
}

/** The maximum number of proxies between a client and this server. */
const MOST_PROXIES = 16;

/**
 * Whether an address may name the one before it in `X-Forwarded-For`, as Fastify asks at every access to `request.ip`, from the last address on:
 * 3,900 addresses of proxies in one header took up to 19 ms each time.
 */
export function trustIn(ranges: readonly Cidr[]): (address: string | undefined, hop: number) => boolean {
  const proxies = createAddressSet(ranges);
  return (address = '', hop) => hop < MOST_PROXIES && proxies.has(withoutZone(address));
}

/**
 * The client that a request without a key counts for: its IPv4 address, or its IPv6 /64 network, which one user
 * controls.
 */
export function clientOf(request: FastifyRequest): string {
  const address = request.ip;
  // A trusted proxy may forward an invalid address; then the proxy's own counts.
  return clientAt(isIP(address) === 0 ? request.socket.remoteAddress : address);
}

/** The client at the remote address of a socket, which is undefined once it has disconnected. */
export function clientAt(address = ''): string {
  return isIPv4(address) ? address : normalizeIP(withoutZone(address), IPV6_PREFIX);
}

function withoutZone(address: string): string {
  return address.replace(/%.*$/, '');
}

/** What to do about an exceeded limit. `whose` defaults to "The limit". */
export function rateLimited(taken: WindowState, whose = 'The limit') {
  const seconds = taken.retryAfterSeconds ?? 0;
  return {
    code: 'RATE_LIMITED',
    detail: `${whose} of ${taken.limit} requests per 60 seconds was exceeded.`,
    extra: {
      hint: `Wait ${seconds} second${seconds === 1 ? '' : 's'} (Retry-After), then try again.`,
      retryAfterSeconds: seconds,
    },
  } as const;
}

/** Refuses a request beyond its limit. @throws DomainError `RATE_LIMITED` */
export function refuseOver(taken: WindowState, whose: string): void {
  if (taken.retryAfterSeconds === null) return;
  const { code, detail, extra } = rateLimited(taken, whose);
  throw new DomainError(code, detail, extra);
}

/** Length of every rate-limit window. */
const WINDOW_MS = 60_000;

/** The windows of one limit: the store of @fastify/rate-limit. */
export interface RateWindows extends FastifyRateLimitStore {
  /** Adds `count` for `key` if the sum stays within `limit`; returns whether it did. */
  add(key: string, count: number, limit: number): boolean;
  /** Adds requests admitted elsewhere, even beyond the limit. */
  count(key: string, count: number): void;
  /** The count of `key`, when its window ends, and the time until then; all 0 before its first request. */
  look(key: string): { count: number; resetSeconds: number; ttlMs: number };
  /** The number of clients with their own window. */
  readonly size: number;
}

/**
 * One-minute windows; at most `most` clients have their own at a time, see {@link createWindows} for further ones.
 */
export function createRateWindows(clock: Clock, most?: number): RateWindows {
  const windows = createWindows(clock, WINDOW_MS, most);
  const rates: RateWindows = {
    incr(key, callback) {
      const window = windows.open(key);
      window.count++;
      callback(null, { current: window.count, ttl: windows.left(window) });
    },
    child: () => rates,
    add(key, count, limit) {
      const window = windows.open(key);
      if (window.count + count > limit) return false;
      window.count += count;
      return true;
    },
    count(key, count) {
      windows.open(key).count += count;
    },
    look(key) {
      const window = windows.find(key);
      if (window === null) return { count: 0, resetSeconds: 0, ttlMs: 0 };
      return { count: window.count, resetSeconds: window.resetSeconds, ttlMs: windows.left(window) };
    },
    get size() {
      return windows.size;
    },
  };
  return rates;
}
