import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { NewId } from '../lib/ids.ts';
import type { AuditActor } from '../model/audit.ts';
import type { ApiKey } from '../model/key.ts';
import type { Tenant } from '../model/tenant.ts';
import type { AuditStore } from '../store/account-store.ts';
import type { Problems } from './problems.ts';

/** Who asks: a key that opened the door, and its tenant. */
export interface Caller {
  key: ApiKey;
  tenant: Tenant;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null until authentication has passed, and on routes that need none. */
    caller: Caller | null;
    /** For how many milliseconds it waited for something to return: no work of the server's. */
    waitedMs: number;
  }
}

/** The caller of a request behind authentication. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('the route is not behind authentication');
  return request.caller;
}

const HOST_LENGTH = 'host'.length;
const SANE_ID = /^[A-Za-z0-9_.-]{1,64}$/;

/** Ids of requests: the caller's `X-Request-Id` if it is safe to log and echo, otherwise a new one. */
export function createRequestIds(newId: NewId): (raw: IncomingMessage) => string {
  return (raw) => {
    const sent = raw.headers['x-request-id'];
    return typeof sent === 'string' && SANE_ID.test(sent) ? sent : newId('req');
  };
}

/** HSTS (RFC 6797), sent where TLS is in use: one year, this host only. */
export const HSTS = { name: 'strict-transport-security', value: 'max-age=31536000' } as const;

/** Whether the address that links are made with is one of TLS; the server itself speaks none. */
export function isHttps(baseUrl: string): boolean {
  return baseUrl.startsWith('https://');
}

/** What every answer has, whichever face gives it. */
export function addRequestContext(
  app: FastifyInstance,
  { problems, baseUrl }: { problems: Problems; baseUrl: string },
): void {
  const isSecure = isHttps(baseUrl);
  app.decorateRequest('caller', null);
  app.decorateRequest('waitedMs', 0);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    // Fastify takes `X-Forwarded-Proto` from proxies of TRUST_PROXY alone.
    if (isSecure || request.protocol === 'https') reply.header(HSTS.name, HSTS.value);
    const fault = hostFault(request.raw);
    if (fault === null) return done();
    setApiHeaders(reply); // as answers to broken HTTP have them, whichever face it was meant for
    problems.send(request, reply, { code: 'INVALID_REQUEST', detail: fault });
  });
}

/**
 * RFC 9112, section 3.2: HTTP/1.1 without Host, and any request with two, is refused. Node would answer the first emptily,
 * and takes the first of two, where what stands before us may have taken the other.
 */
function hostFault({ headers, httpVersion, rawHeaders }: IncomingMessage): string | null {
  if (headers.host === undefined) return httpVersion === '1.1' ? 'The Host header is missing.' : null;
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === HOST_LENGTH && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1 ? 'There is more than one Host header.' : null;
}

/** The one version label that is served (specification of the public API, section 9). */
export const API_VERSION = 'v1';

/** Headers of every API answer, errors included: the version, and that nothing may keep a copy. */
export function setApiHeaders(reply: FastifyReply): void {
  reply.header('x-api-version', API_VERSION);
  reply.header('cache-control', 'no-store');
}

/**
 * Records the caller as the actor of every change that a request makes, in the audit list. Add it after all other hooks:
 * earlier ones may continue in another request's async context.
 */
export function recordActors(
  app: FastifyInstance,
  store: AuditStore,
  actorOf: (request: FastifyRequest) => AuditActor | null,
): void {
  app.addHook('preHandler', (request, _reply, done) => {
    const reads = request.method === 'GET' || request.method === 'HEAD';
    store.as(reads ? null : actorOf(request), done);
  });
}
