import { z } from 'zod';
import { MAX_ID_CHARS } from '../model/text.ts';

/** The path of a request target as sent, without origin (RFC 9112, section 3.2.2), query and fragment. */
export function pathOf(target: string): string {
  const start = target.startsWith('/') ? 0 : originLength(target);
  const end = target.slice(start).search(/[?#]/);
  const path = end === -1 ? target.slice(start) : target.slice(start, start + end);
  return path === '' ? '/' : path;
}

/** Whether a path is unreadable: invalid percent-encoding, or neither an absolute path nor an absolute URL. */
export function isMalformed(target: string): boolean {
  if (!target.startsWith('/') && originLength(target) === 0) return true;
  const path = pathOf(target);
  if (!path.includes('%')) return false;
  try {
    decodeURIComponent(path);
    return false;
  } catch {
    return true;
  }
}

/**
 * The target to route by. A path that cannot be decoded is replaced by one that can, because the router responds to
 * it outside all hooks otherwise: without limit, headers, log line, or the client's address behind a proxy.
 */
export function routableTarget(target: string): string {
  if (target.startsWith('/') && !target.includes('%')) return target;
  if (!isMalformed(target)) return target;
  const readable = target.replaceAll('%', '%25');
  return readable.startsWith('/') ? readable : `/${readable}`;
}

function originLength(target: string): number {
  return /^https?:\/\/[^/?#]*/i.exec(target)?.[0].length ?? 0;
}

/** An ID in a path. A value longer than any ID is treated as unknown: it gets 404 like any other. */
export const pathId = z.string().meta({ maxLength: MAX_ID_CHARS }).describe('ID of the object.');
