import { nearKeys } from '../lib/near-text.ts';
import { codePointLength } from '../lib/text.ts';
import type { Signal } from './signal.ts';

/** Texts further apart in time are two, however alike. */
export const NEAR_WINDOW_MS = 30 * 86_400_000;

/** Texts of an unknown author are one only where they are so long: short ones are alike by chance. */
const MIN_UNSIGNED_CODE_POINTS = 200;

/** Whether a text says enough to be known again without its author. */
export function isLongEnough(text: string): boolean {
  return text.length >= MIN_UNSIGNED_CODE_POINTS && codePointLength(text) >= MIN_UNSIGNED_CODE_POINTS;
}

/** {@link scopedNearKeys}, and none for a text that can be nobody's near-duplicate. */
export function signalNearKeys(
  signal: { tenantId: string; profileId: string; text: string },
  { name, email, linkedin_url }: Signal['prospect'],
): number[] {
  const isSigned = name !== '' || email !== '' || linkedin_url !== '';
  return isSigned || isLongEnough(signal.text) ? scopedNearKeys(signal) : [];
}

/** The keys of a signal's text among those of its profile: what other profiles found is another signal. */
export function scopedNearKeys(signal: { tenantId: string; profileId: string; text: string }): number[] {
  return nearKeys(signal.text).map((key) => scoped(key, `${signal.tenantId} ${signal.profileId}`));
}

/** Mixes a name into 48 bits. */
function scoped(key: number, name: string): number {
  let high = Math.floor(key / 0x1000000);
  let low = key % 0x1000000;
  for (let i = 0; i < name.length; i++) {
    low = (Math.imul(low ^ name.charCodeAt(i), 0x01000193) ^ high) & 0xffffff;
    high = (Math.imul(high, 0x85ebca6b) + low) & 0xffffff;
  }
  return high * 0x1000000 + low;
}
