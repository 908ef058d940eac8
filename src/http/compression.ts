import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  chooseCoding,
  encodeAtOnce,
  encodeBody,
  isCompressible,
  MAX_AT_ONCE_BYTES,
  MIN_CODED_BYTES,
} from './content-coding.ts';
import { codedTag } from './entity-tags.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The route's answer holds a secret that was just made. Such an answer is never compressed: beside what a caller
     * chose, its length would tell of the secret (BREACH).
     */
    showsSecret?: true;
  }
}

/**
 * Codes answers that are made for each request, to the routes that are added to `app` from now on, after all that reads
 * an answer on its way out. Not @fastify/compress, which turns answers into streams: a HEAD would lose its length, what
 * reads the answer after it (idempotency) would store compressed bytes, and cost would be bounded by no figure.
 */
export function addCompression(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const present = [route.onSend ?? []].flat();
    // Fastify's own hook of a HEAD measures the body and drops it: it comes last.
    route.onSend = route.method === 'HEAD' ? [compress, ...present] : [...present, compress];
  });
}

/** An `onSend` hook that codes a body as the client likes it; adds `Vary` to whatever is coded for some clients. */
export function compress(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: (error: null, payload: unknown) => void,
): void {
  const size = sizeOf(payload);
  const large = size >= MIN_CODED_BYTES;
  if (large) addVary(reply);
  const { coding, always } = chooseCoding(request.headers['accept-encoding']);
  const type = String(reply.getHeader('content-type') ?? '');
  const suits = (large || (always && size > 0)) && isCompressible(type);
  if (coding === null || !suits || request.routeOptions.config.showsSecret === true) {
    done(null, payload);
    return;
  }
  const body = typeof payload === 'string' ? Buffer.from(payload) : (payload as Buffer);
  const send = (coded: Buffer) => {
    const etag = reply.getHeader('etag');
    if (typeof etag === 'string') reply.header('etag', codedTag(etag, coding));
    reply.header('content-encoding', coding).removeHeader('content-length');
    done(null, coded);
  };
  if (body.length <= MAX_AT_ONCE_BYTES) send(encodeAtOnce(body, coding));
  else encodeBody(body, coding, 'once').then(send, () => done(null, payload)); // no memory for it: the bytes as they are
}

/** Characters stand for bytes here: it decides only whether compression is worth while. */
function sizeOf(payload: unknown): number {
  return typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
}

function addVary(reply: FastifyReply): void {
  const present = reply.getHeader('vary');
  reply.header('vary', present === undefined ? 'Accept-Encoding' : `${String(present)}, Accept-Encoding`);
}
