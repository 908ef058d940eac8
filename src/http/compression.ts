import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { type BrotliOptions, brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import { DomainError } from '../model/errors.ts';
import { type Precondition, UNCONDITIONAL } from '../store/change-until-it-holds.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The response contains a newly created secret. It is never compressed: together with input chosen by the caller,
     * its length would leak the secret (BREACH).
     */
    showsSecret?: true;
  }
}

/**
 * Compresses dynamic responses of the routes added to `app` from now on, after all other hooks that read the payload.
 * Not @fastify/compress, which turns responses into streams: HEAD would lose its length, hooks that read the payload
 * later (idempotency) would store compressed bytes, and the cost would be unbounded.
 */
export function addCompression(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const present = [route.onSend ?? []].flat();
    // Fastify's own HEAD hook measures the body and drops it, so it must run last.
    route.onSend = route.method === 'HEAD' ? [compress, ...present] : [...present, compress];
  });
}

/**
 * An `onSend` hook that compresses a body as the client accepts; adds `Vary` to every response that depends on it.
 */
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
  else encodeBody(body, coding, 'once').then(send, () => done(null, payload)); // out of memory: send it uncompressed
}

/** Counts characters instead of bytes: it only decides whether compression is worthwhile. */
function sizeOf(payload: unknown): number {
  return typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
}

function addVary(reply: FastifyReply): void {
  const present = reply.getHeader('vary');
  reply.header('vary', present === undefined ? 'Accept-Encoding' : `${String(present)}, Accept-Encoding`);
}

/** Supported content codings, in order of preference if a client accepts both equally. */
const CODINGS = ['br', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];

/** The result of an `Accept-Encoding` header. */
export interface CodingChoice {
  /** The coding to use; null for none. */
  coding: Coding | null;
  /** `identity;q=0`: even bodies too small to benefit are encoded. */
  always: boolean;
}

const AS_IS: CodingChoice = { coding: null, always: false };
/** Compressing smaller bodies saves less than one packet. */
export const MIN_CODED_BYTES = 1024;
/**
 * Bodies up to this size are compressed synchronously (0.25 ms at most): on a busy server, a round trip to another
 * thread costs more.
 */
const MAX_AT_ONCE_BYTES = 32 * 1024;

/** The maximum number of ranges, parameters and quotes of `Accept` and `Accept-Encoding`. */
const MAX_PARTS = 200;

/** Headers with more are disregarded, as RFC 9110, section 12.4.1, allows: parsing thousands takes 2 ms. */
export function hasTooManyParts(header: string): boolean {
  return header.split(/[,;"]/, MAX_PARTS + 1).length > MAX_PARTS;
}

/**
 * Parses an `Accept-Encoding` header (RFC 9110, section 12.5.3). If no coding is acceptable, the header is
 * disregarded, as section 12.4.1 allows: an uncompressed body is more useful than a refusal.
 */
export function chooseCoding(header: string | string[] | undefined): CodingChoice {
  if (header === undefined || header === 'identity' || hasTooManyParts(String(header))) return AS_IS;
  // RFC 9110, section 8.4.1.3: `x-gzip` is gzip. Negotiator supports neither that nor an upper-case `Q`, and with
  // equal weights it takes the first.
  const ranges = String(header).toLowerCase().replaceAll('x-gzip', 'gzip').split(',');
  const ranked = ranges.map((range) => range.trim()).sort((a, b) => rankOf(a) - rankOf(b));
  const negotiator = new Negotiator({ headers: { 'accept-encoding': ranked.join(',') } });
  const accepted = negotiator.encodings([...CODINGS, 'identity']);
  const coding = CODINGS.find((name) => name === accepted[0]) ?? null;
  return { coding, always: !accepted.includes('identity') };
}

function rankOf(range: string): number {
  const rank = CODINGS.findIndex((coding) => range.startsWith(coding));
  return rank === -1 ? CODINGS.length : rank;
}

/** Whether bodies of a content type benefit: images and fonts are already compressed. */
export function isCompressible(contentType: string): boolean {
  return /^text\/|[/+](?:json|xml|javascript)\b/.test(contentType);
}

const deflate = promisify(gzip);
const brotli = promisify(brotliCompress);

/**
 * Compresses a body in libuv's threads. `once`: sent once; `kept`: cached and sent again. A page of 100 signals (113
 * KB) takes 0.8 ms of processor time and shrinks to a sixth at quality 3, and 1.7 ms at 4 for 2 % less. Cached bodies
 * use quality 9: 22 ms, whereas 11 takes 310 ms for 7 % less.
 */
export function encodeBody(body: Buffer, coding: Coding, use: 'once' | 'kept'): Promise<Buffer> {
  const quality = use === 'kept' ? 9 : 3;
  if (coding === 'gzip') return deflate(body, { level: quality });
  return brotli(body, brotliOptions(body, quality));
}

/** Compresses a small body synchronously: see {@link MAX_AT_ONCE_BYTES}. */
function encodeAtOnce(body: Buffer, coding: Coding): Buffer {
  return coding === 'gzip' ? gzipSync(body, { level: 3 }) : brotliCompressSync(body, brotliOptions(body, 3));
}

function brotliOptions(body: Buffer, quality: number): BrotliOptions {
  return {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: quality,
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
    },
  };
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The route reads or changes a versioned resource: its responses have an `ETag`, and changes respect `If-Match`.
     */
    versioned?: true;
  }
}

/** The resource that an `ETag` is computed for. */
interface Versioned {
  id: string;
  version: number;
}

const TAG_LIST = /^(?:W\/)?"[!#-~\x80-\xff]*"(?:[ \t]*,[ \t]*(?:W\/)?"[!#-~\x80-\xff]*")*$/;
/** A longer list of entity tags did not come from this server. */
export const MAX_TAGS_CHARS = 2_000;
const EACH_TAG = /(?:W\/)?"[^"]*"/g;

/**
 * A strong `ETag` (RFC 9110, section 8.8.3) in two parts. The first is the version, which grows with each change by a
 * client; the second is a hash of the bytes, which also contain values that the server updates, such as a source's
 * last run. `If-None-Match` compares both, `If-Match` only the first: a run of the source in between is no reason to
 * refuse a change of its settings.
 */
export function entityTag(of: Versioned, text: string): string {
  return `"${versionMark(of)}.${hash(text, 16)}"`;
}

/** The tag of the same resource in a content coding, whose bytes differ (RFC 9110, section 8.8.3.3). */
function codedTag(etag: string, coding: Coding): string {
  return `${etag.slice(0, -1)}-${coding}"`;
}

/** The `If-Match` precondition on the resource to change (RFC 9110, section 13.1.1). */
export function preconditionOf({ headers, routeOptions: { config } }: FastifyRequest): Precondition {
  const header = headers['if-match'];
  if (header === undefined || header === '*') return UNCONDITIONAL;
  // A weak tag never matches here; an unreadable list contains no tags.
  const marks = readTags(header)
    .filter((tag) => tag.startsWith('"'))
    .map((tag) => tag.slice(1).split('.', 1)[0]);
  return (current) => {
    if (config.versioned !== true || !marks.includes(versionMark(current))) throw failed(marks.length === 0);
  };
}

/**
 * Refuses `If-Match` on a change to a resource without an `ETag`: no tag of the client can match. Ignoring the header
 * would make a change that the client wanted to prevent.
 */
export function refuseUnmatchable({ headers, routeOptions: { config }, method }: FastifyRequest): void {
  const header = headers['if-match'];
  if (header === undefined || header === '*' || config.versioned === true) return;
  if (method !== 'PUT' && method !== 'PATCH' && method !== 'DELETE') return;
  throw new DomainError('PRECONDITION_FAILED', 'This resource has no ETag, so no If-Match can match it.', {
    hint: 'Send the request without "If-Match".',
  });
}

/**
 * Sends 304 and returns true if the client has the current representation (`If-None-Match`, RFC 9110, section
 * 13.1.2). `data` is the data to send or, as text, the whole body.
 */
export function sendNotModified(request: FastifyRequest, reply: FastifyReply, data: unknown): boolean {
  const etag = reply.getHeader('etag');
  const header = request.headers['if-none-match'];
  if (typeof etag !== 'string' || header === undefined) return false;
  if (request.method !== 'GET' && request.method !== 'HEAD') return false;
  const known =
    header === '*' ? etag : readTags(header).find((tag) => plain(tag) === etag || weakOf(tag) === etag);
  if (known === undefined) return false;
  const size = (typeof data === 'string' ? data : JSON.stringify({ data })).length;
  if (size >= MIN_CODED_BYTES) reply.header('vary', 'Accept-Encoding');
  reply.code(304).header('etag', weakOf(known)).send();
  return true;
}

function readTags(header: string): string[] {
  return header.length <= MAX_TAGS_CHARS && TAG_LIST.test(header) ? (header.match(EACH_TAG) ?? []) : [];
}

/** Weak comparison, as `If-None-Match` requires: a weak tag equals the strong one. */
function weakOf(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag;
}

/** The tag without the coding that {@link codedTag} adds. */
function plain(tag: string): string {
  return weakOf(tag).replace(/-(?:br|gzip)"$/, '"');
}

/** Differs between resources, so that the tag of one never matches another. */
function versionMark({ id, version }: Versioned): string {
  return hash(`${id} ${version}`, 12);
}

function hash(text: string, length: number): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, length);
}

function failed(unreadable: boolean): DomainError {
  const detail = unreadable
    ? '"If-Match" holds no strong entity tag such as "qT8bFzZ0x1Yk.Jb2mW9uQv0s7LxPa", in its quotation marks.'
    : 'The resource was changed since you read it: "If-Match" does not contain its current ETag.';
  return new DomainError('PRECONDITION_FAILED', detail, {
    hint: 'Read it again, and send your change with its new ETag.',
  });
}
