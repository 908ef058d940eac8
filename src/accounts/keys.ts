import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Random } from '../lib/random.ts';
import { type ApiKey, presetScopes, SCOPES, type Scope, scopesNamed } from '../model/key.ts';

const PREFIX = 'sp_live_';
const RANDOM_CHARS = 30;
const CHECK_CHARS = 6;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const FORMAT = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_CHARS + CHECK_CHARS}}$`);

/** A new secret key: `sp_live_` + 30 random base62 characters + CRC32 of them in 6. */
export function generateApiKey(random: Random): string {
  let body = '';
  while (body.length < RANDOM_CHARS) {
    for (const byte of random.bytes(RANDOM_CHARS)) {
      // 248 = 4 x 62: bytes above it would favour the first characters.
      if (byte < 248 && body.length < RANDOM_CHARS) body += BASE62[byte % 62];
    }
  }
  return `${PREFIX}${body}${checkOf(body)}`;
}

/** Whether a string can be one of our keys, told without a look-up: a typo fails the check characters. */
export function isWellFormedApiKey(key: string): boolean {
  if (!FORMAT.test(key)) return false;
  const body = key.slice(PREFIX.length, -CHECK_CHARS);
  return checkOf(body) === key.slice(-CHECK_CHARS);
}

/** The form a key is stored and looked up in: SHA-256, hex. 178 random bits need no slow hash. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

function checkOf(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let i = 0; i < CHECK_CHARS; i++) {
    text = BASE62[rest % 62] + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** Why a stored key does not open the door now, or null where it does. */
export function keyRefusal(key: ApiKey, now: number): 'revoked' | 'expired' | null {
  if (key.revokedAt !== null) return 'revoked';
  return key.expiresAt !== null && key.expiresAt <= now ? 'expired' : null;
}

/** Whether `scopes` permit `needed`; `:write` includes `:read`. */
export function allows(scopes: readonly Scope[], needed: Scope): boolean {
  if (scopes.includes(needed)) return true;
  return needed.endsWith(':read') && scopes.includes(needed.replace(/:read$/, ':write') as Scope);
}

/** A comma list of scopes and presets (`read`, `write`: all but keys, `admin`), or the names that are neither. */
export function parseScopes(text: string): { scopes: Scope[] } | { unknown: string[] } {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => presetScopes(name) === null && !SCOPES.includes(name as Scope));
  return unknown.length > 0 ? { unknown } : { scopes: scopesNamed(names) };
}
