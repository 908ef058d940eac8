import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import { onceOver } from './once-over.ts';
import { hasBody } from './request-body.ts';

/** The scarce resource that a request is refused for. */
const STRAINS = ['requests', 'bodies', 'responses', 'turns', 'storage', 'memory'] as const;
type Strain = (typeof STRAINS)[number];

/** The caller and the size of its body, as far as known. */
interface RequestCost {
  /** A tenant ID, or {@link ANYONE}. */
  owner: string;
  bytes: number;
  /** Bytes of its response, if that is large. */
  responseBytes?: number;
  /** Ends it before its body has arrived. Absent if it has no body. */
  end?(): void;
}

/** What an owner has in progress. */
interface OwnLoad {
  requests: number;
  bytes: number;
  /** How much of it waits for the rest of a body. */
  awaited: { requests: number; bytes: number };
}

const noLoad = (): OwnLoad => ({ requests: 0, bytes: 0, awaited: { requests: 0, bytes: 0 } });

/** The owner of all unauthenticated callers. */
const ANYONE = '';

/** Why a request is refused, and when to retry. */
interface Refusal {
  strain: Strain;
  retryAfterSeconds: number;
}

/** How much work is accepted at once. */
export interface LoadLimits {
  /** Always admitted, so that work continues whatever the measurements say, and the measurements recover. */
  least: number;
  /** Maximum number of requests whose body has arrived and that have no response yet; each owner gets at most half. */
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

/** How many requests may be ended for another one: with 16 of 130 KB, batches of 4 MB were still refused. */
const MOST_ENDED = 200;

/**
 * Rejects requests before admitted ones suffer: accepted requests are answered within seconds under any load.
 *
 * What only waits for its client takes nobody's place. Requests with an incomplete body are ended for others, of the tenant whose bodies take the most room,
 * and among unauthenticated callers: 56 of two tenants that sent no byte of theirs got every other POST refused, and 2,000 without an account the log-in page.
 */
export interface LoadGate {
  /** Null if the request is admitted; {@link leave} must then be called. */
  enter(cost: RequestCost): Refusal | null;
  /** The body has arrived. */
  arrive(cost: RequestCost): void;
  /** The response has been passed to the connection; its client may not read it. */
  finish(cost: RequestCost): void;
  /** The response has been sent, or the client has disconnected. */
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
  const byOwner = new Map<string, OwnLoad>();
  const unreadBytes = new Map<string, number>();
  const [finished, left] = [new WeakSet<RequestCost>(), new WeakSet<RequestCost>()];
  /** Requests whose body has not arrived, in order of arrival. */
  const awaited = new Set<RequestCost>();
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

  const ownLimit = { requests: limits.most / 2, bytes: limits.mostBytes / 2 };
  const isOverOwn = (own: OwnLoad, bytes: number) => own.bytes + bytes > ownLimit.bytes;

  function look({ owner, bytes }: RequestCost): Refusal | null {
    const own = byOwner.get(owner) ?? noLoad();
    const isFull = own.requests - own.awaited.requests >= ownLimit.requests;
    if (isFull || inFlight - awaited.size >= limits.most) return soon('requests', 1_000);
    if (isOverOwn(own, bytes) || bytesInFlight + bytes > limits.mostBytes) return soon('bodies', 1_000);
    if ((unreadBytes.get(owner) ?? 0) > ownLimit.bytes) return soon('responses', 1_000);
    const turnMs = turns.reduce((most, waitMs) => Math.max(most, waitMs()), 0);
    if (turnMs > limits.mostWaitMs && isAtShare(own.requests)) return soon('turns', turnMs);
    const storeMs = store.waitMs(owner);
    if (storeMs > limits.mostWaitMs) return soon('storage', storeMs);
    return memory() > limits.mostMemory ? soon('memory', LONG_RETRY_SECONDS * 1_000) : null;
  }

  function lookAndMakeRoom(cost: RequestCost): Refusal | null {
    let refusal = look(cost);
    for (let ended = 0; refusal?.strain === 'bodies' && ended < MOST_ENDED; ended++) {
      const longest = longestAwaited(cost);
      if (longest === undefined) break;
      finish(longest);
      longest.end?.();
      refusal = look(cost);
    }
    return refusal;
  }

  /** The request that is ended for another one. */
  function longestAwaited({ owner, bytes }: RequestCost): RequestCost | undefined {
    const own = byOwner.get(owner) ?? noLoad();
    let from: string | undefined;
    if (!isOverOwn(own, bytes)) {
      let most = own.bytes + bytes;
      for (const [name, { awaited }] of byOwner)
        if (awaited.bytes > most) [from, most] = [name, awaited.bytes];
    } else if (owner === ANYONE) from = ANYONE;
    for (const cost of awaited) if (cost.owner === from) return cost;
    return undefined;
  }

  function arrive(cost: RequestCost): void {
    const own = awaited.delete(cost) && byOwner.get(cost.owner);
    if (!own) return;
    own.awaited.requests--;
    own.awaited.bytes -= cost.bytes;
  }

  function finish(cost: RequestCost): void {
    if (finished.has(cost)) return;
    finished.add(cost);
    arrive(cost);
    inFlight--;
    bytesInFlight -= cost.bytes;
    const own = byOwner.get(cost.owner);
    if (own === undefined) return;
    own.requests--;
    own.bytes -= cost.bytes;
    if (own.requests === 0) byOwner.delete(cost.owner);
  }

  return {
    arrive,
    finish,
    enter(cost) {
      const refusal = inFlight < limits.least ? null : lookAndMakeRoom(cost);
      if (refusal !== null) {
        refused[refusal.strain]++;
        return refusal;
      }
      inFlight++;
      bytesInFlight += cost.bytes;
      const own = byOwner.get(cost.owner) ?? noLoad();
      byOwner.set(cost.owner, own);
      own.requests++;
      own.bytes += cost.bytes;
      if (cost.end === undefined) return null;
      awaited.add(cost);
      own.awaited.requests++;
      own.awaited.bytes += cost.bytes;
      return null;
    },
    answer(cost, bytes) {
      if (left.has(cost)) return; // created for a client that had disconnected
      cost.responseBytes = (cost.responseBytes ?? 0) + bytes;
      unreadBytes.set(cost.owner, (unreadBytes.get(cost.owner) ?? 0) + bytes);
    },
    leave(cost) {
      finish(cost);
      left.add(cost);
      const { owner, responseBytes = 0 } = cost;
      const others = (unreadBytes.get(owner) ?? 0) - responseBytes;
      if (others > 0) unreadBytes.set(owner, others);
      else unreadBytes.delete(owner);
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
    const cost = costOf(request);
    const refusal = load.enter(cost);
    if (refusal !== null) return done(overloaded(refusal));
    costs.set(request, cost);
    if (cost.end !== undefined) request.raw.once('end', () => load.arrive(cost));
    reply.raw.once('prefinish', () => load.finish(cost));
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

function costOf({ owner, raw, routeOptions: { bodyLimit } }: FastifyRequest): RequestCost {
  const { 'content-length': length } = raw.headers;
  // A body that is announced to be too long is not read.
  if (!hasBody(raw) || Number(length) > bodyLimit) return { owner, bytes: 0 };
  const bytes = Math.min(Number(length ?? UNKNOWN_BYTES), bodyLimit);
  return { owner, bytes, end: () => void raw.destroy() };
}
