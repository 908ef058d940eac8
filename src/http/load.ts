import type { IncomingMessage } from 'node:http';
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import { onceOver } from './once-over.ts';

/** The scarce resource that a request is refused for. */
const STRAINS = ['requests', 'bodies', 'responses', 'turns', 'storage', 'memory'] as const;
type Strain = (typeof STRAINS)[number];

/** The caller and the size of its body, as far as known. */
interface RequestCost {
  /** A tenant ID; '' for an unauthenticated caller. */
  owner: string;
  bytes: number;
  /** Bytes of its response, if that is large. */
  responseBytes?: number;
}

/** Why a request is refused, and when to retry. */
interface Refusal {
  strain: Strain;
  retryAfterSeconds: number;
}

/** How much work is accepted at once. */
export interface LoadLimits {
  /** Always admitted, so that work continues whatever the measurements say, and the measurements recover. */
  least: number;
  /** Maximum number of requests in progress; each owner gets at most half. */
  most: number;
  /** Maximum bytes of their bodies; each owner gets at most half, and as many of large responses that its clients have not read yet. */
  mostBytes: number;
  /** Maximum expected wait for a turn and for a commit. */
  mostWaitMs: number;
  /** Maximum share of memory in use. */
  mostMemory: number;
}

export const LOAD_LIMITS: LoadLimits = {
  least: 32,
  most: 4_000,
  mostBytes: 256 * 1024 * 1024,
  // Enough for hundreds of simultaneous posts; a longer queue makes all wait without increasing throughput.
  mostWaitMs: 500,
  mostMemory: 0.9,
};

const LOOK_AT_MEMORY_EVERY_MS = 250;
const LONG_RETRY_SECONDS = 5;

/** Rejects requests before admitted ones suffer: accepted requests are answered within seconds under any load. */
export interface LoadGate {
  /** Null if the request is admitted; {@link leave} must then be called once. */
  enter(cost: RequestCost): Refusal | null;
  leave(cost: RequestCost): void;
  /** Counts a large response until {@link leave}: a client that does not read it keeps it in memory. */
  answer(cost: RequestCost, bytes: number): void;
  /** Counts a request that was admitted and then refused before any work was done. */
  refuse(strain: Strain, waitMs: number): Refusal;
  /** Excludes a request that only waits from those in progress, until the returned function is called. */
  park(): () => void;
  /** Includes the current wait of a face's turn queue from now on. */
  watchTurns(waitMs: () => number): void;
  readonly inFlight: number;
  /** Requests refused since the process started. */
  readonly refused: Readonly<Record<Strain, number>>;
}

interface LoadDeps {
  clock: Clock;
  store: { waitMs(tenantId: string): number };
  limits?: LoadLimits;
  memoryShare?(): number;
}

export function createLoadGate({
  clock,
  store,
  limits = LOAD_LIMITS,
  memoryShare = takenMemory,
}: LoadDeps): LoadGate {
  const byOwner = new Map<string, { requests: number; bytes: number; responseBytes: number }>();
  const refused = { requests: 0, bodies: 0, responses: 0, turns: 0, storage: 0, memory: 0 };
  const turns: (() => number)[] = [];
  const memory = seldom(clock, memoryShare);
  let inFlight = 0;
  let bytesInFlight = 0;

  /**
   * Whether another request gives its owner at least an equal share of those in progress. Owners with less did not
   * cause the wait: refusing them would not shorten it, and one tenant's flood would get others refused.
   */
  const isAtShare = (own: number) => (own + 1) * byOwner.size >= inFlight;

  function look({ owner, bytes }: RequestCost): Refusal | null {
    const own = byOwner.get(owner) ?? { requests: 0, bytes: 0, responseBytes: 0 };
    if (own.requests >= limits.most / 2 || inFlight >= limits.most) return soon('requests', 1_000);
    if (own.bytes + bytes > limits.mostBytes / 2 || bytesInFlight + bytes > limits.mostBytes)
      return soon('bodies', 1_000);
    if (own.responseBytes > limits.mostBytes / 2) return soon('responses', 1_000);
    const turnMs = turns.reduce((most, waitMs) => Math.max(most, waitMs()), 0);
    if (turnMs > limits.mostWaitMs && isAtShare(own.requests)) return soon('turns', turnMs);
    const storeMs = store.waitMs(owner);
    if (storeMs > limits.mostWaitMs) return soon('storage', storeMs);
    return memory() > limits.mostMemory ? soon('memory', LONG_RETRY_SECONDS * 1_000) : null;
  }

  return {
    enter(cost) {
      const refusal = inFlight < limits.least ? null : look(cost);
      if (refusal !== null) {
        refused[refusal.strain]++;
        return refusal;
      }
      inFlight++;
      bytesInFlight += cost.bytes;
      const own = byOwner.get(cost.owner);
      if (own === undefined) byOwner.set(cost.owner, { requests: 1, bytes: cost.bytes, responseBytes: 0 });
      else {
        own.requests++;
        own.bytes += cost.bytes;
      }
      return null;
    },
    answer(cost, bytes) {
      const own = byOwner.get(cost.owner);
      if (own === undefined) return;
      cost.responseBytes = (cost.responseBytes ?? 0) + bytes;
      own.responseBytes += bytes;
    },
    leave({ owner, bytes, responseBytes = 0 }) {
      inFlight--;
      bytesInFlight -= bytes;
      const own = byOwner.get(owner);
      if (own === undefined) return;
      own.requests--;
      own.bytes -= bytes;
      own.responseBytes -= responseBytes;
      if (own.requests === 0) byOwner.delete(owner);
    },
    refuse(strain, waitMs) {
      refused[strain]++;
      return soon(strain, waitMs);
    },
    park() {
      inFlight--;
      return () => {
        inFlight++;
      };
    },
    watchTurns: (waitMs) => void turns.push(waitMs),
    get inFlight() {
      return inFlight;
    },
    refused,
  };
}

function soon(strain: Strain, waitMs: number): Refusal {
  return { strain, retryAfterSeconds: Math.min(10, Math.max(1, Math.ceil(waitMs / 1_000))) };
}

/** The used share of the JavaScript heap or of the memory available to the process, whichever is higher. */
function takenMemory(): number {
  const { used_heap_size: used, heap_size_limit: most } = getHeapStatistics();
  const allowed = process.constrainedMemory();
  const bounded = allowed > 0 && allowed < totalmem();
  return Math.max(used / most, bounded ? process.memoryUsage.rss() / allowed : 0);
}

/** Caches a measurement for a short time. */
function seldom(clock: Clock, read: () => number): () => number {
  let readAt = Number.NEGATIVE_INFINITY;
  let value = 0;
  return () => {
    const now = clock.monotonic();
    if (now - readAt >= LOOK_AT_MEMORY_EVERY_MS) [readAt, value] = [now, read()];
    return value;
  };
}

/** Smaller responses are not counted. */
const LARGE_RESPONSE_BYTES = 64 * 1024;
/** A UTF-16 code unit takes at most three bytes in UTF-8. */
const MOST_BYTES_A_UNIT = 3;

/** The assumed size of a body of unknown length: that of a larger one. */
const UNKNOWN_BYTES = 64 * 1024;

const DETAILS: Record<Strain, string> = {
  requests: 'Too many requests are being processed.',
  bodies: 'Too many large requests are being read.',
  responses: 'Too many large responses are being sent.',
  turns: 'Too many requests are queued.',
  storage: 'Too many changes are waiting to be stored.',
  memory: 'The server is low on memory.',
};

/**
 * Responds with 503 while the server is overloaded, before bodies are read. Runs after authentication, so that 401
 * and 403 take precedence and each owner's share is known. Counts the responses of routes added from now on as they are sent:
 * compression must be added before.
 */
export function addShedding(
  app: FastifyInstance,
  { load, ownerOf }: { load: LoadGate; ownerOf(request: FastifyRequest): string },
): void {
  const costs = new WeakMap<FastifyRequest, RequestCost>();

  const count = (
    request: FastifyRequest,
    _reply: unknown,
    payload: unknown,
    done: (error: null, payload: unknown) => void,
  ) => {
    // A string would be encoded when it is written; encoded here, its bytes are known, and it is not encoded again.
    const isLong = typeof payload === 'string' && payload.length > LARGE_RESPONSE_BYTES / MOST_BYTES_A_UNIT;
    const body = isLong ? Buffer.from(payload) : payload;
    const bytes = Buffer.isBuffer(body) ? body.length : 0;
    const cost = bytes < LARGE_RESPONSE_BYTES ? undefined : costs.get(request);
    if (cost !== undefined) load.answer(cost, bytes);
    done(null, body);
  };
  app.addHook('onRoute', (route) => {
    route.onSend = [route.onSend ?? [], count].flat();
  });
  app.addHook('onRequest', (request, reply, done) => {
    if (reply.raw.destroyed) {
      // The caller disconnected during authentication: there is nothing to do and nobody to answer.
      reply.hijack();
      return;
    }
    request.owner = ownerOf(request);
    const cost: RequestCost = { owner: request.owner, bytes: bodyBytes(request.raw) };
    const refusal = load.enter(cost);
    if (refusal !== null) return done(overloaded(refusal));
    costs.set(request, cost);
    onceOver(reply.raw, () => load.leave(cost));
    done();
  });
}

/** The error of a refused request. */
export function overloaded({ strain, retryAfterSeconds }: Refusal): DomainError {
  return new DomainError('UNAVAILABLE', `${DETAILS[strain]} Nothing was changed.`, {
    hint: `Wait ${retryAfterSeconds} second${retryAfterSeconds === 1 ? '' : 's'} (Retry-After), then try again.`,
    retryAfterSeconds,
  });
}

function bodyBytes({ headers }: IncomingMessage): number {
  const length = headers['content-length'];
  if (length !== undefined) return Number(length) || 0;
  return headers['transfer-encoding'] === undefined ? 0 : UNKNOWN_BYTES;
}
