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

/** Supported content codings, in order of preference if a client accepts both equally. */
const CODINGS = ['br', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];

/** What an `Accept-Encoding` header asks for. */
export interface CodingChoice {
  /** The coding to use; null: the bytes as they are. */
  coding: Coding | null;
  /** `identity;q=0`: even bodies too small to benefit are encoded. */
  always: boolean;
}

const AS_IS: CodingChoice = { coding: null, always: false };
/** Bodies below this gain less than a packet. */
export const MIN_CODED_BYTES = 1024;
/**
 * Up to here a body is coded on the spot (a quarter of a millisecond at most): on a busy server a turn of another thread
 * and back costs the answer more than that.
 */
const MAX_AT_ONCE_BYTES = 32 * 1024;

/**
 * Reads an `Accept-Encoding` header (RFC 9110, section 12.5.3). Where nothing is acceptable it is disregarded, as section
 * 12.4.1 allows: a body as it is helps more than a refusal.
 */
export function chooseCoding(header: string | string[] | undefined): CodingChoice {
  if (header === undefined || header === 'identity') return AS_IS;
  // RFC 9110, section 8.4.1.3: `x-gzip` is gzip. Negotiator knows neither that nor a `Q`, and of two that are liked alike
  // takes the first.
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

/** Whether bodies of a content type get smaller: pictures and fonts are compressed in themselves. */
export function isCompressible(contentType: string): boolean {
  return /^text\/|[/+](?:json|xml|javascript)\b/.test(contentType);
}

const deflate = promisify(gzip);
const brotli = promisify(brotliCompress);

/**
 * The bytes in a coding, made in libuv's threads. `once`: for a body that is kept and sent again. A page of 100 signals
 * (113 KB) takes 0.8 ms of a processor to a sixth at quality 3, and 1.7 at 4 for 2 % less. A kept one takes quality 9:
 * 22 ms, where 11 takes 310 for 7 % less.
 */
export function encodeBody(body: Buffer, coding: Coding, use: 'once' | 'kept'): Promise<Buffer> {
  const quality = use === 'kept' ? 9 : 3;
  if (coding === 'gzip') return deflate(body, { level: quality });
  return brotli(body, brotliOptions(body, quality));
}

/** The bytes of a small body in a coding, made on the spot: see {@link MAX_AT_ONCE_BYTES}. */
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
    /** The route reads or changes a resource with a version: its answers have an `ETag`, its changes heed `If-Match`. */
    versioned?: true;
  }
}

/** What an `ETag` is made for. */
interface Versioned {
  id: string;
  version: number;
}

const TAG_LIST = /^(?:W\/)?"[!#-~\x80-\xff]*"(?:[ \t]*,[ \t]*(?:W\/)?"[!#-~\x80-\xff]*")*$/;
/** A list of entity tags that is longer is none of ours. */
export const MAX_TAGS_CHARS = 2_000;
const EACH_TAG = /(?:W\/)?"[^"]*"/g;

/**
 * A strong `ETag` (RFC 9110, section 8.8.3) in two parts. The first stands for the version, which grows with each change
 * that a client makes; the second for the bytes, which also hold what the server itself counts, such as the last run of
 * a source. `If-None-Match` compares both, and `If-Match` the first: that a source was read meanwhile is no reason to
 * refuse a change of its settings.
 */
export function entityTag(of: Versioned, text: string): string {
  return `"${versionMark(of)}.${hash(text, 16)}"`;
}

/** The same resource's tag in a content coding: its bytes are others (RFC 9110, section 8.8.3.3). */
function codedTag(etag: string, coding: Coding): string {
  return `${etag.slice(0, -1)}-${coding}"`;
}

/** The precondition of `If-Match` on the resource to change (RFC 9110, section 13.1.1). */
export function preconditionOf({ headers, routeOptions: { config } }: FastifyRequest): Precondition {
  const header = headers['if-match'];
  if (header === undefined || header === '*') return UNCONDITIONAL;
  // A weak tag never matches here, and a list that cannot be read names none.
  const marks = readTags(header)
    .filter((tag) => tag.startsWith('"'))
    .map((tag) => tag.slice(1).split('.', 1)[0]);
  return (current) => {
    if (config.versioned !== true || !marks.includes(versionMark(current))) throw failed(marks.length === 0);
  };
}

/**
 * Refuses `If-Match` on a change of what has no `ETag`: no tag that the client has can be that of the resource. Passing
 * over it would change what the client wanted left alone.
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
 * Answers 304 if the client has the current representation (`If-None-Match`, RFC 9110, section 13.1.2); false if it has to be sent:
 * `data` or, as text, the whole body.
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

/** Compared as `If-None-Match` compares: a weak tag equals the strong one. */
function weakOf(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag;
}

/** The tag without the coding that {@link codedTag} adds. */
function plain(tag: string): string {
  return weakOf(tag).replace(/-(?:br|gzip)"$/, '"');
}

/** Another for another resource: its tag is none of this one. */
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
