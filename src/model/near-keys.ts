import { DAY_MS } from '../lib/clock.ts';
import { nearKeys } from '../lib/near-text.ts';
import { codePointLength } from '../lib/text.ts';
import type { ObservedPost } from './signal.ts';

/** Texts further apart in time count as different, however similar they are. */
export const NEAR_WINDOW_MS = 30 * DAY_MS;

/** Texts of unknown authors are compared only from this length on: short texts are similar by chance. */
const MIN_UNSIGNED_CODE_POINTS = 200;

/** Whether a text is long enough to be recognised without its author. */
export function isLongEnough(text: string): boolean {
  return text.length >= MIN_UNSIGNED_CODE_POINTS && codePointLength(text) >= MIN_UNSIGNED_CODE_POINTS;
}

/** The {@link nearKeys} of a post; none if its text is too short to compare without an author. */
export function postNearKeys({
  text,
  prospect: { name = '', email = '', linkedin_url = '' } = {},
}: Pick<ObservedPost, 'text' | 'prospect'>): number[] {
  const isSigned = name !== '' || email !== '' || linkedin_url !== '';
  return isSigned || isLongEnough(text) ? nearKeys(text) : [];
}

/**
 * Scopes the {@link nearKeys} of a text to a profile: the same text under another profile is another signal.
 */
export function scopedNearKeys(
  keys: readonly number[],
  { tenantId, profileId }: { tenantId: string; profileId: string },
): number[] {
  return keys.map((key) => scoped(key, `${tenantId} ${profileId}`));
}

/** Mixes a name into the 48 bits of a key. */
function scoped(key: number, name: string): number {
  let high = Math.floor(key / 0x1000000);
  let low = key % 0x1000000;
  for (let i = 0; i < name.length; i++) {
    low = (Math.imul(low ^ name.charCodeAt(i), 0x01000193) ^ high) & 0xffffff;
    high = (Math.imul(high, 0x85ebca6b) + low) & 0xffffff;
  }
  return high * 0x1000000 + low;
}
