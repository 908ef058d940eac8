import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fresh from 'fresh';
import { toHttpDate } from '../lib/clock.ts';
import { shared } from '../lib/yielding.ts';
import {
  type Coding,
  type CodingChoice,
  chooseCoding,
  encodeBody,
  isCompressible,
  MIN_CODED_BYTES,
} from './compression.ts';

/** A complete response; only its codings are computed on first request. */
export interface Representation {
  /** Uncompressed. */
  plain: Finished;
  /** The representation that the client accepts; a promise if it is still being encoded. */
  inCoding(choice: CodingChoice): Finished | Promise<Finished>;
}

interface Finished {
  body: Buffer;
  /** The same bytes as a Latin-1 string; null if the body is long. */
  bytes: string | null;
  /** The values that conditional requests are compared with. */
  validators: { etag: string; 'last-modified'?: string };
  /** Headers of the 200, names and values alternating, as Node takes them. */
  head: readonly string[];
  /** Headers of a 304: the same without those that describe a body. */
  notModifiedHead: readonly string[];
}

export interface RepresentationInput {
  body: string | Buffer;
  contentType: string;
  cacheControl: string;
  /** Unix milliseconds; null for no Last-Modified. */
  lastModified: number | null;
  headers?: Record<string, string>;
  /** How long it is used: `once` if it is kept only briefly. Compressing one of 30 KB to be kept takes 8 ms instead of 0.4. */
  use?: 'once' | 'kept';
}

/**
 * Node combines head and body into one write if both are strings and fit into 16 KiB; with a Buffer it makes two,
 * which made a small page 10 to 17 % more expensive.
 */
const ONE_WRITE_BYTES = 14 * 1024;

/** How long clients may cache a response that can change with the next start. */
export const CACHE_BRIEFLY = 'public, max-age=300';
/** For addresses that contain a hash of their bytes. */
export const CACHE_FOR_EVER = 'public, max-age=31536000, immutable';

/**
 * Creates a response with a strong ETag of its bytes (RFC 9110, section 8.8.3), different for each coding, so that a
 * cache never mixes them up. A coding is computed on first request, and cached.
 */
export function represent(input: RepresentationInput): Representation {
  const body = Buffer.from(input.body);
  const tag = tagOf(body, input.contentType);
  const worthwhile = body.length >= MIN_CODED_BYTES && isCompressible(input.contentType);
  const plain = finish(input, { body, etag: `"${tag}"`, coding: null });
  /** A promise while it is being encoded: requests that arrive meanwhile wait for the same one. */
  const coded = new Map<Coding, Finished | Promise<Finished>>();

  async function encode(coding: Coding): Promise<Finished> {
    try {
      const bytes = await encodeBody(body, coding, input.use ?? 'kept');
      const made = finish(input, { body: bytes, etag: `"${tag}-${coding}"`, coding });
      coded.set(coding, made);
      return made;
    } catch (error) {
      coded.delete(coding);
      throw error;
    }
  }

  return {
    plain,
    inCoding({ coding, always }) {
      if (coding === null || !(worthwhile || always)) return plain;
      const known = coded.get(coding) ?? encode(coding);
      coded.set(coding, known);
      return known instanceof Promise ? shared(known) : known;
    },
  };
}

interface Coded {
  body: Buffer;
  etag: string;
  coding: Coding | null;
}

function finish(input: RepresentationInput, { body, etag, coding }: Coded): Finished {
  const validators = {
    etag,
    ...(input.lastModified !== null && { 'last-modified': toHttpDate(input.lastModified) }),
  };
  const lasting = { ...input.headers, 'cache-control': input.cacheControl, ...validators };
  const vary = [input.headers?.vary, 'Accept-Encoding'].filter((name) => name !== undefined).join(', ');
  const ofBody = {
    'content-type': input.contentType,
    ...(coding !== null && { 'content-encoding': coding }),
    'content-length': String(body.length),
  };
  return {
    body,
    bytes: body.length <= ONE_WRITE_BYTES ? body.toString('latin1') : null,
    validators,
    head: Object.entries({ ...lasting, vary, ...ofBody }).flat(),
    notModifiedHead: Object.entries({ ...lasting, vary }).flat(),
  };
}

/**
 * Sends the representation, or 304 if the client has it (RFC 9110, section 13.2.2: ETags before dates). Bypasses
 * Fastify, which would encode the text again, and add a wrong `Content-Length: 0` to the 304 of a HEAD.
 */
export function sendRepresentation(
  request: FastifyRequest,
  reply: FastifyReply,
  { plain, inCoding }: Representation,
): void {
  reply.hijack();
  const answer = inCoding(chooseCoding(request.headers['accept-encoding']));
  if (!(answer instanceof Promise)) {
    send(request, reply, answer);
    return;
  }
  answer.then(
    (made) => send(request, reply, made),
    () => send(request, reply, plain), // out of memory: send it uncompressed
  );
}

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  { body, bytes, validators, head, notModifiedHead }: Finished,
): void {
  const known = fresh(request.headers, validators);
  const { raw } = reply;
  const lines = (known ? notModifiedHead : head).slice();
  for (const [name, value] of Object.entries(reply.getHeaders())) lines.push(name, String(value));
  raw.writeHead(known ? 304 : 200, lines);
  if (known) raw.end();
  else if (bytes === null) raw.end(body);
  else raw.end(bytes, 'latin1');
}

/** 128 bits of SHA-256. The type is hashed, too: two representations never share a tag, even with the same bytes. */
function tagOf(body: Buffer, contentType: string): string {
  const digest = createHash('sha256').update(contentType).update('\0').update(body).digest('base64url');
  return digest.slice(0, 22);
}

/** The colours and fonts that site and dashboard share, as CSS that precedes a face's own. */
export function readPalette(): Promise<string> {
  return readFile(new URL('./styles/palette.css', import.meta.url), 'utf8');
}
