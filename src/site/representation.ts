import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fresh from 'fresh';
import { toHttpDate } from '../lib/clock.ts';

/** A finished answer: nothing of it is computed when it is asked for. */
export interface Representation {
  body: Buffer;
  /** Headers of the 200; names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Headers of a 304: the same without those that tell of a body. */
  notModifiedHeaders: Readonly<Record<string, string>>;
}

export interface RepresentationInput {
  body: string | Buffer;
  contentType: string;
  cacheControl: string;
  /** Unix milliseconds. */
  lastModified: number;
  headers?: Record<string, string>;
}

/** How long an answer that can change with the next start may be kept unasked. */
export const CACHE_BRIEFLY = 'public, max-age=300';
/** For addresses that name their bytes. */
export const CACHE_FOR_EVER = 'public, max-age=31536000, immutable';

/** Puts together an answer with a strong ETag of its own bytes (RFC 9110, section 8.8.3). */
export function represent(input: RepresentationInput): Representation {
  const body = Buffer.from(input.body);
  const lasting = {
    ...input.headers,
    'cache-control': input.cacheControl,
    etag: etagOf(body, input.contentType),
    'last-modified': toHttpDate(input.lastModified),
  };
  return {
    body,
    headers: { ...lasting, 'content-type': input.contentType, 'content-length': String(body.length) },
    notModifiedHeaders: lasting,
  };
}

/** Sends the representation, or 304 where the client has it (RFC 9110, section 13.2.2: ETags before dates). */
export function sendRepresentation(
  request: FastifyRequest,
  reply: FastifyReply,
  representation: Representation,
): FastifyReply {
  const { body, headers, notModifiedHeaders } = representation;
  if (fresh(request.headers, headers)) return reply.headers(notModifiedHeaders).code(304).send();
  return reply.headers(headers).send(body);
}

/** 128 bits of SHA-256. The type is hashed too: two representations never share a tag, whatever their bytes. */
function etagOf(body: Buffer, contentType: string): string {
  const digest = createHash('sha256').update(contentType).update('\0').update(body).digest('base64url');
  return `"${digest.slice(0, 22)}"`;
}
