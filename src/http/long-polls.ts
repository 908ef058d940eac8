import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { LoadGate } from './load.ts';

/** Requests that may wait at once. Each holds a connection and 2 KB; one that is woken costs as much as any. */
export interface LongPollLimits {
  most: number;
  ofTenant: number;
}

export const LONG_POLL_LIMITS: LongPollLimits = { most: 1_000, ofTenant: 20 };

/** A request that waits; it ends when its time is up, when its caller has gone, and when the server stops. */
export interface LongPoll {
  readonly signal: AbortSignal;
  /** Must be called, once, before the request is answered. */
  end(): void;
}

/** Requests whose answer is held until there is something to return. */
export interface LongPolls {
  /** @throws DomainError `RATE_LIMITED`, `UNAVAILABLE` where too many wait already */
  begin(asked: LongPollAsked): LongPoll;
  /** Ends all, and lets none wait from now on. */
  close(): void;
}

interface LongPollAsked {
  request: FastifyRequest;
  reply: FastifyReply;
  tenantId: string;
  seconds: number;
}

interface LongPollParts {
  clock: Clock;
  load: Pick<LoadGate, 'park'>;
  limits?: LongPollLimits;
}

export function createLongPolls({ clock, load, limits = LONG_POLL_LIMITS }: LongPollParts): LongPolls {
  const waiting = new Set<AbortController>();
  const ofTenants = new Map<string, number>();
  let closed = false;

  return {
    begin({ request, reply, tenantId, seconds }) {
      const own = ofTenants.get(tenantId) ?? 0;
      if (own >= limits.ofTenant) throw tooManyOwn(own);
      if (waiting.size >= limits.most) throw tooMany();
      const controller = new AbortController();
      const abort = () => controller.abort();
      const since = clock.monotonic();
      const timer = clock.after(seconds * 1_000, abort);
      const goOn = load.park();
      reply.raw.once('close', abort);
      waiting.add(controller);
      ofTenants.set(tenantId, own + 1);
      if (closed) abort();
      return {
        signal: controller.signal,
        end() {
          timer.cancel();
          reply.raw.off('close', abort);
          goOn();
          waiting.delete(controller);
          const left = (ofTenants.get(tenantId) ?? 1) - 1;
          if (left === 0) ofTenants.delete(tenantId);
          else ofTenants.set(tenantId, left);
          request.waitedMs += clock.monotonic() - since;
        },
      };
    },
    close() {
      closed = true;
      for (const controller of waiting) controller.abort();
    },
  };
}

const HINT = 'Wait until one of them returns, or omit "wait" and try again later.';

function tooManyOwn(waiting: number): DomainError {
  return new DomainError('RATE_LIMITED', `${waiting} requests of this tenant are already waiting.`, {
    hint: HINT,
    retryAfterSeconds: 1,
  });
}

function tooMany(): DomainError {
  return new DomainError('UNAVAILABLE', 'Too many requests are already waiting. Nothing was changed.', {
    hint: HINT,
    retryAfterSeconds: 1,
  });
}
