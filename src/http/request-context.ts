import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { NewId } from '../lib/ids.ts';
import type { AuditActor } from '../model/audit.ts';
import type { ApiKey } from '../model/key.ts';
import type { Tenant } from '../model/tenant.ts';
import type { AuditStore } from '../store/account-store.ts';
import type { Problems } from './problems.ts';

/** The authenticated key and its tenant. */
export interface Caller {
  key: ApiKey;
  tenant: Tenant;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null until authentication has passed, and on routes that require none. */
    caller: Caller | null;
    /** The tenant on whose behalf it is handled; '' if it is not authenticated. */
    owner: string;
    /**
     * The milliseconds that the request waited for something to return; excluded from the server's processing time.
     */
    waitedMs: number;
  }
}

/** The caller of an authenticated request. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('the route is not behind authentication');
  return request.caller;
}

const HOST_LENGTH = 'host'.length;
const SANE_ID = /^[A-Za-z0-9_.-]{1,64}$/;

/** Request IDs: the caller's `X-Request-Id` if it is safe to log and echo, otherwise a new one. */
export function createRequestIds(newId: NewId): (raw: IncomingMessage) => string {
  return (raw) => {
    const sent = raw.headers['x-request-id'];
    return typeof sent === 'string' && SANE_ID.test(sent) ? sent : newId('req');
  };
}

/** HSTS (RFC 6797), sent where TLS is in use: one year, this host only. */
export const HSTS = { name: 'strict-transport-security', value: 'max-age=31536000' } as const;

/** Whether the server's public address uses TLS; the server itself does not. */
export function isHttps(baseUrl: string): boolean {
  return baseUrl.startsWith('https://');
}

/** Adds the headers of every response, for all faces. */
export function addRequestContext(
  app: FastifyInstance,
  { problems, baseUrl }: { problems: Problems; baseUrl: string },
): void {
  const isSecure = isHttps(baseUrl);
  app.decorateRequest('caller', null);
  app.decorateRequest('owner', '');
  app.decorateRequest('waitedMs', 0);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    // Fastify accepts `X-Forwarded-Proto` only from proxies in TRUST_PROXY.
    if (isSecure || request.protocol === 'https') reply.header(HSTS.name, HSTS.value);
    const fault = hostFault(request.raw);
    if (fault === null) return done();
    setApiHeaders(reply); // as in every response to malformed HTTP
    problems.send(request, reply, { code: 'INVALID_REQUEST', detail: fault });
  });
}

/**
 * RFC 9112, section 3.2: rejects HTTP/1.1 without Host, and any request with two. Node would respond to the former
 * without a body, and takes the first of two, where a proxy in front may have taken the other.
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

/** The only supported version label (specification of the public API, section 9). */
export const API_VERSION = 'v1';

/** Headers of every API response, including errors: the version, and `no-store`. */
export function setApiHeaders(reply: FastifyReply): void {
  reply.header('x-api-version', API_VERSION);
  reply.header('cache-control', 'no-store');
}

/**
 * Records the caller as the actor of every change of a request, for the audit log. Register it after all other hooks:
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
