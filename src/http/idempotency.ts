import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Clock, DAY_MS } from '../lib/clock.ts';
import { createIds, type NewId } from '../lib/ids.ts';
import { canonicalPieces } from '../lib/json.ts';
import type { Random } from '../lib/random.ts';
import type { SeededRandom } from '../lib/secret-box.ts';
import { createYielder } from '../lib/yielding.ts';
import { DomainError } from '../model/errors.ts';
import type {
  HeldKey,
  IdempotencyStore,
  KeptResponse,
  KeyedRequest,
  StoredResponse,
} from '../store/request-store.ts';
import type { Store } from '../store/store.ts';
import { callerOf } from './auth.ts';
import { JSON_TYPE, sendAsIs } from './problems.ts';
import { tracedDeps } from './request-log.ts';

/** How long a key is kept. */
export const KEY_LIFE_MS = DAY_MS;
const RETRY_IN_FLIGHT_SECONDS = 1;
const KEY_FORMAT = /^[!-~]{1,255}$/;
/** Members of a response's `data` that are shown only once: they are never stored, so a replay has null instead. */
const SHOWN_ONCE = ['api_key', 'secret'];

declare module 'fastify' {
  interface FastifyRequest {
    /** Null if there is no `Idempotency-Key`, or a stored response is replayed. */
    idempotency: HeldKey | null;
  }
}

export interface IdempotencyDeps {
  store: IdempotencyStore;
  clock: Clock;
  newId: NewId;
}

/** The dependencies of a handler that differ for a keyed request. */
interface KeyedRunDeps {
  /** The trace of the request. */
  trace?: string | null;
  store: Store;
  clock: Clock;
  newId: NewId;
  seededRandom: SeededRandom;
  random?: Random;
}

/**
 * The dependencies with which a POST's handler makes its changes. With an `Idempotency-Key`, the result of each
 * change is stored with the request in the same commit, and every run uses the same time, IDs and secrets. If the
 * process is killed half-way, a retry runs the handler again: completed changes are not repeated, and the response is
 * the one the first run would have sent. `item` numbers the items of a batch that are changed concurrently, so that
 * each has its own results.
 */
export function runParts<P extends KeyedRunDeps>(request: FastifyRequest, deps: P, item = ''): P {
  const held = request.idempotency;
  const own = tracedDeps(request, deps);
  if (held === null) return own;
  const clock: Clock = { ...deps.clock, now: () => held.startedAt };
  const random = deps.seededRandom(`${held.seed}/${item}`);
  const newEventId = createIds(clock, deps.seededRandom(`${held.seed}/${item}/events`));
  const store = deps.store.keeping(held, item);
  return { ...own, store, clock, random, newId: createIds(clock, random), newEventId };
}

/**
 * Adds `Idempotency-Key` to every POST registered on `app` from now on (draft-ietf-httpapi-idempotency-key-header):
 * the first success is stored and replayed. The key is reserved durably before the body is validated, and the
 * response stored durably before it is sent. A request that fails without a change releases its key; one that was
 * interrupted after a change is completed by the next request with its key ({@link runParts}).
 */
export function addIdempotency(app: FastifyInstance, deps: IdempotencyDeps): void {
  app.decorateRequest('idempotency', null);

  function reserve(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    // This check is the only cost for a POST without a key.
    if (request.headers['idempotency-key'] === undefined) {
      done();
      return;
    }
    reserveOrReplay(request, reply, deps).then((runs) => {
      if (runs) done();
    }, done);
  }

  function conclude<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: T,
    done: (error: null, payload: T) => void,
  ): void {
    if (request.idempotency === null) {
      done(null, payload);
      return;
    }
    const held = request.idempotency;
    const kept = toKept(reply, payload);
    keepOrRelease(held, kept, deps.store)
      // The change was made or refused: the caller gets that response even if the key cannot be settled.
      .catch((err: unknown) => {
        request.log.error({ err, request_id: request.id }, 'idempotency key not settled');
      })
      .finally(() => {
        if (kept === null || held.steps.length === 0) return done(null, payload);
        reply.header('idempotent-replayed', 'true');
        done(null, kept.body as T);
      });
  }

  app.addHook('onRoute', (route) => {
    if (route.method !== 'POST') return;
    route.preValidation = [reserve, ...[route.preValidation ?? []].flat()];
    route.onSend = [conclude, ...[route.onSend ?? []].flat()];
  });
}

/** True if the request has to run; otherwise a response was sent. */
async function reserveOrReplay(
  request: FastifyRequest,
  reply: FastifyReply,
  { store, clock, newId }: IdempotencyDeps,
): Promise<boolean> {
  const keyed = await keyedRequest(request, clock);
  const now = clock.now();
  const terms = { token: newId('idp'), now, expiresAt: now + KEY_LIFE_MS };
  const found = await store.reserveKey(keyed, terms);
  if (found.state === 'answered') {
    replay(reply, found.answer);
    return false;
  }
  if (found.state !== 'held') throw refusal(found.state);
  request.idempotency = found.held;
  return true;
}

async function keyedRequest(request: FastifyRequest, clock: Clock): Promise<KeyedRequest> {
  const key = String(request.headers['idempotency-key']);
  if (!KEY_FORMAT.test(key)) {
    const detail = 'must be one header of 1 to 255 visible ASCII characters, without spaces';
    throw new DomainError('INVALID_REQUEST', `"Idempotency-Key" ${detail}.`, {
      hint: 'Use a new UUID for each operation.',
      errors: [{ parameter: 'Idempotency-Key', detail: `"Idempotency-Key" ${detail}.` }],
    });
  }
  return {
    tenantId: callerOf(request).tenant.id,
    route: `POST ${request.routeOptions.url}`,
    key,
    fingerprint: await fingerprintOf(request, clock),
  };
}

/**
 * Identifies a request: path, query and parsed body. Not the bytes of the body, because a retry may serialize the
 * same content with another order and other white space. Yields: 5 MiB take 30 ms, just after they were parsed.
 */
async function fingerprintOf({ params, query, body }: FastifyRequest, clock: Clock): Promise<string> {
  const nextTurn = createYielder(clock);
  const hash = createHash('sha256');
  for (const piece of canonicalPieces([params, query, body])) {
    hash.update(piece);
    await nextTurn();
  }
  return hash.digest('hex');
}

function replay(reply: FastifyReply, { status, location, body }: KeptResponse): void {
  reply.code(status).header('idempotent-replayed', 'true');
  if (location !== null) reply.header('location', location);
  if (body.length === 0) void reply.send();
  else sendAsIs(reply, JSON_TYPE, body);
}

function refusal(state: 'running' | 'mismatch'): DomainError {
  if (state === 'mismatch') {
    return new DomainError('IDEMPOTENCY_MISMATCH', 'This Idempotency-Key was used for a different request.', {
      hint: 'Send the same request again, or use a new key for a different one.',
    });
  }
  return new DomainError(
    'IDEMPOTENCY_IN_FLIGHT',
    'The first request with this Idempotency-Key is still running.',
    {
      hint: 'Wait (Retry-After), then send the request again.',
      retryAfterSeconds: RETRY_IN_FLIGHT_SECONDS,
    },
  );
}

/** The part of a response that is stored; null if it was not successful. */
function toKept(reply: FastifyReply, payload: unknown): StoredResponse | null {
  if (reply.statusCode < 200 || reply.statusCode > 299) return null;
  const body = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : '';
  const location = reply.getHeader('location');
  return {
    status: reply.statusCode,
    location: typeof location === 'string' ? location : null,
    body: withoutSecrets(body),
  };
}

async function keepOrRelease(
  { request, token }: HeldKey,
  kept: StoredResponse | null,
  store: IdempotencyStore,
): Promise<void> {
  if (kept === null) await store.releaseKey(request, token);
  else await store.answerKey(request, token, kept);
}

function withoutSecrets(body: string | Buffer): string | Buffer {
  if (!SHOWN_ONCE.some((name) => body.includes(`"${name}":"`))) return body;
  const answer: { data?: Record<string, unknown> } = JSON.parse(body.toString());
  for (const name of SHOWN_ONCE) {
    if (typeof answer.data?.[name] === 'string') answer.data[name] = null;
  }
  return JSON.stringify(answer);
}
