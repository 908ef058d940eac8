import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { NewId } from '../lib/ids.ts';
import type { ApiKey } from '../model/key.ts';
import type { Tenant } from '../model/tenant.ts';
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
  }
}

const SANE_ID = /^[A-Za-z0-9_.-]{1,64}$/;

/** Ids for requests: the caller's `X-Request-Id` where it is safe to log and to echo, else a new one. */
export function createRequestIds(newId: NewId): (raw: IncomingMessage) => string {
  return (raw) => {
    const sent = raw.headers['x-request-id'];
    return typeof sent === 'string' && SANE_ID.test(sent) ? sent : newId('req');
  };
}

/** What every answer has, whichever face gives it. */
export function addRequestContext(app: FastifyInstance, { problems }: { problems: Problems }): void {
  app.decorateRequest('caller', null);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    if (lacksHost(request.raw)) {
      problems.send(request, reply, { code: 'INVALID_REQUEST', detail: 'The Host header is missing.' });
      return;
    }
    done();
  });
}

/** RFC 9112, section 3.2: HTTP/1.1 without Host is refused. Node would do it with an empty answer. */
function lacksHost(raw: IncomingMessage): boolean {
  return raw.headers.host === undefined && raw.httpVersion === '1.1';
}
