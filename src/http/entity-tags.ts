import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../model/errors.ts';
import { type Precondition, UNCONDITIONAL } from '../store/change-until-it-holds.ts';
import { type Coding, MIN_CODED_BYTES } from './content-coding.ts';

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
export function codedTag(etag: string, coding: Coding): string {
  return `${etag.slice(0, -1)}-${coding}"`;
}

/** What `If-Match` requires of the resource that is to be changed (RFC 9110, section 13.1.1). */
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
 * Answers 304 where the client has the representation already (`If-None-Match`, RFC 9110, section 13.1.2); false where it
 * is to be sent, which is `data` or, as text, the whole body.
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
