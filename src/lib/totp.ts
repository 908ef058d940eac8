import { createHmac, timingSafeEqual } from 'node:crypto';

const STEP_MS = 30_000;
const DIGITS = 6;
/** A client's clock may be one step behind or ahead of ours (RFC 6238, section 5.2). */
const SKEW_STEPS = 1;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The time step of a time in Unix milliseconds. */
export function stepOf(now: number): number {
  return Math.floor(now / STEP_MS);
}

/** The code of a time step (RFC 6238 with SHA-1, which every authenticator supports; RFC 4226, section 5.3). */
export function totpCode(secret: Buffer, step: number, digits = DIGITS): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const hash = createHmac('sha1', secret).update(counter).digest();
  const offset = (hash.at(-1) ?? 0) & 0xf;
  const number = hash.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** digits).padStart(digits, '0');
}

/** The time step of a code, later than `after`; null if it matches none near `now`. Spaces are ignored. */
export function stepOfCode(
  secret: Buffer,
  code: string,
  { now, after }: { now: number; after: number },
): number | null {
  const given = Buffer.from(code.replace(/\s/g, ''));
  let found: number | null = null;
  for (let step = stepOf(now) - SKEW_STEPS; step <= stepOf(now) + SKEW_STEPS; step++) {
    const expected = Buffer.from(totpCode(secret, step));
    const fits = given.length === expected.length && timingSafeEqual(given, expected);
    if (fits && step > after) found = step;
  }
  return found;
}

/** Base32 without padding (RFC 4648, section 6), the format of secrets in authenticators. */
export function base32(bytes: Buffer): string {
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      text += BASE32[(value >>> (bits - 5)) & 31];
      bits -= 5;
    }
    value &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + BASE32[(value << (5 - bits)) & 31];
}

/** The URI for setting up an authenticator (Google Authenticator's Key Uri Format). */
export function totpUri(secret: Buffer, { issuer, account }: { issuer: string; account: string }): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  return `otpauth://totp/${label}?secret=${base32(secret)}&issuer=${encodeURIComponent(issuer)}&algorithm=SHA1&digits=${DIGITS}&period=${STEP_MS / 1_000}`;
}
