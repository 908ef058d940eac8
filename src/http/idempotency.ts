import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { canonicalJson } from '../lib/canonical-json.ts';
import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { DomainError } from '../model/errors.ts';
import type { IdempotencyStore, KeptAnswer, KeyedRequest } from '../store/idempotency-store.ts';
import { callerOf } from './auth.ts';
import { JSON_TYPE, sendAsIs } from './problems.ts';

/** How long a key stands for its request. */
export const KEY_LIFE_MS = 24 * 3_600_000;
/** Longer than any request runs: a test delivery waits 30 s for its receiver. */
export const LEASE_MS = 120_000;
const RETRY_IN_FLIGHT_SECONDS = 1;
const KEY_FORMAT = /^[!-~]{1,255}$/;
/** Members of an answer's `data` that are shown once: they are never stored, so no replay can show them. */
const SHOWN_ONCE = ['api_key', 'secret'];

/** A reserved request, to be answered or released when its answer goes out. */
interface Held {
  keyed: KeyedRequest;
  token: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null where no `Idempotency-Key` was sent, and where a stored answer is replayed. */
    idempotency: Held | null;
  }
}

export interface IdempotencyParts {
  store: IdempotencyStore;
  clock: Clock;
  newId: NewId;
}

/**
 * Gives every POST that is added to `app` from now on its `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header):
 * the first success is kept and replayed. A key is reserved, durably, before the body is checked, and answered, durably,
 * before the caller hears of it. A request that fails frees its key.
 */
export function addIdempotency(app: FastifyInstance, parts: IdempotencyParts): void {
  app.decorateRequest('idempotency', null);

  function reserve(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    // A POST without a key pays for this look alone.
    if (request.headers['idempotency-key'] === undefined) {
      done();
      return;
    }
    reserveOrReplay(request, reply, parts).then((runs) => {
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
    keepOrRelease(request.idempotency, toKept(reply, payload), parts.store)
      // The change is made, or was refused: its caller hears so even where the key cannot be settled.
      .catch((err: unknown) => {
        request.log.error({ err, request_id: request.id }, 'idempotency key not settled');
      })
      .finally(() => done(null, payload));
  }

  app.addHook('onRoute', (route) => {
    if (route.method !== 'POST') return;
    route.preValidation = [reserve, ...[route.preValidation ?? []].flat()];
    route.onSend = [conclude, ...[route.onSend ?? []].flat()];
  });
}

/** True where the request is to run; else it was answered. */
async function reserveOrReplay(
  request: FastifyRequest,
  reply: FastifyReply,
  { store, clock, newId }: IdempotencyParts,
): Promise<boolean> {
  const keyed = keyedRequest(request);
  const now = clock.now();
  const token = newId('idp');
  const terms = { token, now, leaseUntil: now + LEASE_MS, expiresAt: now + KEY_LIFE_MS };
  const found = await store.reserveKey(keyed, terms);
  if (found.state === 'answered') {
    replay(reply, found.answer);
    return false;
  }
  if (found.state !== 'reserved') throw refusal(found.state);
  request.idempotency = { keyed, token };
  return true;
}

function keyedRequest(request: FastifyRequest): KeyedRequest {
  const key = String(request.headers['idempotency-key']);
  if (!KEY_FORMAT.test(key)) {
    const detail = 'must be one header of 1 to 255 visible ASCII characters, without spaces';
    throw new DomainError('INVALID_REQUEST', `"Idempotency-Key" ${detail}.`, {
      hint: 'A new UUID for each thing that you mean to do is a good key.',
      errors: [{ parameter: 'Idempotency-Key', detail: `"Idempotency-Key" ${detail}.` }],
    });
  }
  return {
    tenantId: callerOf(request).tenant.id,
    route: `POST ${request.routeOptions.url}`,
    key,
    fingerprint: fingerprintOf(request),
  };
}

/**
 * What makes two requests the same: address, query and body as parsed. Not the body's bytes, since a retry that is
 * serialised anew may order and space its members differently and still ask for the same.
 */
function fingerprintOf({ params, query, body }: FastifyRequest): string {
  return createHash('sha256')
    .update(canonicalJson([params, query, body]))
    .digest('hex');
}

function replay(reply: FastifyReply, { status, location, body }: KeptAnswer): void {
  reply.code(status).header('idempotent-replayed', 'true');
  if (location !== null) reply.header('location', location);
  if (body === '') void reply.send();
  else sendAsIs(reply, JSON_TYPE, body);
}

function refusal(state: 'running' | 'mismatch' | 'lost'): DomainError {
  if (state === 'mismatch') {
    return new DomainError('IDEMPOTENCY_MISMATCH', 'This Idempotency-Key was used for a different request.', {
      hint: 'Send the same request again, or use a new key for a new one.',
    });
  }
  if (state === 'running') {
    return new DomainError(
      'IDEMPOTENCY_IN_FLIGHT',
      'The first request with this Idempotency-Key is still running.',
      { hint: 'Wait (Retry-After), then send it again.', retryAfterSeconds: RETRY_IN_FLIGHT_SECONDS },
    );
  }
  return new DomainError(
    'CONFLICT',
    'The first request with this Idempotency-Key was cut off, and may have taken effect: its answer is not known.',
    { hint: 'Look whether it took effect. If it did not, send it again: the key is free now.' },
  );
}

/** What is kept of an answer; null where it is no success. */
function toKept(reply: FastifyReply, payload: unknown): KeptAnswer | null {
  if (reply.statusCode < 200 || reply.statusCode > 299) return null;
  const body = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.toString() : '';
  const location = reply.getHeader('location');
  return {
    status: reply.statusCode,
    location: typeof location === 'string' ? location : null,
    body: withoutSecrets(body),
  };
}

async function keepOrRelease(
  { keyed, token }: Held,
  kept: KeptAnswer | null,
  store: IdempotencyStore,
): Promise<void> {
  if (kept === null) await store.releaseKey(keyed, token);
  else await store.answerKey(keyed, token, kept);
}

function withoutSecrets(body: string): string {
  if (!SHOWN_ONCE.some((name) => body.includes(`"${name}":"`))) return body;
  const answer: { data?: Record<string, unknown> } = JSON.parse(body);
  for (const name of SHOWN_ONCE) {
    if (typeof answer.data?.[name] === 'string') answer.data[name] = null;
  }
  return JSON.stringify(answer);
}
