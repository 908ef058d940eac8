import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { deriveKey } from './secret-box.ts';

const TAG_BYTES = 12;

/** Opaque, signed page positions, each valid only for its scope (tenant, route, filters). */
export interface Cursors {
  encode(scope: string, position: readonly (string | number)[]): string;
  /** The position, or null if the cursor is damaged, forged or from another scope. */
  decode(scope: string, cursor: string): (string | number)[] | null;
}

/**
 * Signs cursors with a key derived from `masterKey`, and also accepts those signed with one of `olderKeys`.
 * Layout: base64url of tag (12 bytes) + JSON position.
 */
export function createCursors(masterKey: Buffer, olderKeys: readonly Buffer[] = []): Cursors {
  const sign = createSign(masterKey);
  const signs = [sign, ...olderKeys.map(createSign)];

  return {
    encode(scope, position) {
      const body = Buffer.from(JSON.stringify(position));
      return Buffer.concat([sign(scope, body), body]).toString('base64url');
    },
    decode(scope, cursor) {
      const bytes = Buffer.from(cursor, 'base64url');
      if (bytes.length <= TAG_BYTES || bytes.toString('base64url') !== cursor) return null;
      const [tag, body] = [bytes.subarray(0, TAG_BYTES), bytes.subarray(TAG_BYTES)];
      if (!signs.some((each) => timingSafeEqual(tag, each(scope, body)))) return null;
      return JSON.parse(body.toString('utf8'));
    },
  };
}

function createSign(masterKey: Buffer): (scope: string, body: Buffer) => Buffer {
  // A key object is created once: creating it from bytes for each signature takes 15 us instead of 3.5.
  const key = createSecretKey(deriveKey(masterKey, 'cursor'));
  return (scope, body) =>
    createHmac('sha256', key).update(`${scope.length}:${scope}`).update(body).digest().subarray(0, TAG_BYTES);
}
