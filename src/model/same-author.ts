import { fold } from '../lib/text.ts';
import { personKeys } from './person-keys.ts';
import type { Signal } from './signal.ts';

type Author = Pick<Signal['prospect'], 'name' | 'email' | 'linkedin_url'>;

/**
 * Whether two posts are by one person. An address or profile in common decides, then two of a kind that differ, then the
 * names, as far as they are known.
 */
export function compareAuthors(a: Author, b: Author): 'same' | 'different' | 'unknown' {
  const [keysA, keysB] = [personKeys(a), personKeys(b)];
  if (keysA.some((key) => keysB.includes(key))) return 'same';
  if (keysA.some((key) => keysB.some((other) => kindOf(key) === kindOf(other)))) return 'different';
  const [nameA, nameB] = [nameOf(a), nameOf(b)];
  if (nameA === '' || nameB === '') return 'unknown';
  return nameA === nameB ? 'same' : 'different';
}

function kindOf(key: string): string {
  return key.slice(0, key.indexOf(':'));
}

/** Folded, with single spaces; the sign before a handle is no part of it. */
function nameOf({ name }: Author): string {
  return fold(name)
    .replace(/\s+/gu, ' ')
    .trim()
    .replace(/^@|^\/?u\//u, '');
}
