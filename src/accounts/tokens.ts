import { createHash } from 'node:crypto';

/** What a browser, a link or a recovery code holds, as it is kept and looked up: SHA-256, hex. 80 random bits need no slow hash. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
