import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DomainError } from '../model/errors.ts';
import type { Asked, LoadGate, Refusal, Strain } from './load.ts';

/** A body of unknown length counts as one of the larger ones. */
const UNKNOWN_BYTES = 64 * 1024;

const DETAILS: Record<Strain, string> = {
  requests: 'Too many requests are being answered.',
  bodies: 'Too many large requests are being read.',
  turns: 'Too many requests wait for their turn.',
  storage: 'Too many changes wait to be stored.',
  memory: 'The server is short of memory.',
};

/**
 * Answers 503 while the server is overloaded, before bodies are read. Runs after authentication, so that 401 and 403 take
 * precedence and each owner's share is known.
 */
export function addShedding(
  app: FastifyInstance,
  { load, ownerOf }: { load: LoadGate; ownerOf(request: FastifyRequest): string },
): void {
  app.addHook('onRequest', (request, reply, done) => {
    const asked: Asked = { owner: ownerOf(request), bytes: bodyBytes(request.raw) };
    const refusal = load.enter(asked);
    if (refusal !== null) return done(overloaded(refusal));
    let gone = false;
    const leave = () => {
      if (!gone) load.leave(asked);
      gone = true;
    };
    // A caller that breaks off is never answered: then there is no `finish`.
    reply.raw.once('finish', leave).once('close', leave);
    done();
  });
}

/** The error of a request that is turned away. */
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
