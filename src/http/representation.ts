import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fresh from 'fresh';
import { toHttpDate } from '../lib/clock.ts';
import {
  type Coding,
  type CodingChoice,
  chooseCoding,
  encodeBody,
  isCompressible,
  MIN_CODED_BYTES,
} from './compression.ts';

/** A complete response: only its encodings are computed, on first request. */
export interface Representation {
  /** As it is. */
  plain: Finished;
  /** The representation that the client accepts; a promise if it is still being encoded. */
  inCoding(choice: CodingChoice): Finished | Promise<Finished>;
}

interface Finished {
  body: Buffer;
  /** The same bytes as a Latin-1 string; null if the body is long. */
  bytes: string | null;
  /** What a condition of the client is compared with. */
  validators: { etag: string; 'last-modified'?: string };
  /** Headers of the 200, names and values by turns, as Node takes them. */
  head: readonly string[];
  /** Headers of a 304: the same without those that tell of a body. */
  notModifiedHead: readonly string[];
}

export interface RepresentationInput {
  body: string | Buffer;
  contentType: string;
  cacheControl: string;
  /** Unix milliseconds; null for no Last-Modified. */
  lastModified: number | null;
  headers?: Record<string, string>;
}

/**
 * Node copies head and body into one write where both are strings and fit into 16 KiB; with a Buffer it gathers two,
 * which made a small page a tenth to a sixth dearer.
 */
const ONE_WRITE_BYTES = 14 * 1024;

/** How long an answer that can change with the next start may be kept unasked. */
export const CACHE_BRIEFLY = 'public, max-age=300';
/** For addresses that name their bytes. */
export const CACHE_FOR_EVER = 'public, max-age=31536000, immutable';

/**
 * Puts together an answer with a strong ETag of its own bytes (RFC 9110, section 8.8.3), another for each coding: a
 * cache that holds one must not take it for the other. A coding is made when it is first asked for, and kept.
 */
export function represent(input: RepresentationInput): Representation {
  const body = Buffer.from(input.body);
  const tag = tagOf(body, input.contentType);
  const worthwhile = body.length >= MIN_CODED_BYTES && isCompressible(input.contentType);
  const plain = finish(input, { body, etag: `"${tag}"`, coding: null });
  const coded = new Map<Coding, Finished>();

  async function encode(coding: Coding): Promise<Finished> {
    const bytes = await encodeBody(body, coding, 'kept');
    const made = finish(input, { body: bytes, etag: `"${tag}-${coding}"`, coding });
    coded.set(coding, made);
    return made;
  }

  return {
    plain,
    inCoding({ coding, always }) {
      if (coding === null || !(worthwhile || always)) return plain;
      return coded.get(coding) ?? encode(coding);
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
 * Sends the representation, or 304 where the client has it (RFC 9110, section 13.2.2: ETags before dates). Past Fastify,
 * which would encode the text again, and give the 304 to a HEAD a `Content-Length: 0` that is not the page's.
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
    () => send(request, reply, plain), // no memory for it: the bytes as they are will do
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

/** 128 bits of SHA-256. The type is hashed too: two representations never share a tag, whatever their bytes. */
function tagOf(body: Buffer, contentType: string): string {
  const digest = createHash('sha256').update(contentType).update('\0').update(body).digest('base64url');
  return digest.slice(0, 22);
}

/** The colours and type that site and dashboard share, as CSS: it stands before a face's own. */
export function readPalette(): Promise<string> {
  return readFile(new URL('./styles/palette.css', import.meta.url), 'utf8');
}
