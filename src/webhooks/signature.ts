import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { Random } from '../lib/random.ts';
import type { SentRequest } from '../model/delivery.ts';

const SECRET_PREFIX = 'whsec_';

/** A new endpoint secret: `whsec_` + base64 of 32 random bytes, the form of Standard Webhooks. */
export function generateSecret(random: Random): string {
  return SECRET_PREFIX + random.bytes(32).toString('base64');
}

/** Signs one endpoint's deliveries; keys are imported once, since an attempt needs three HMACs. */
export interface Signer {
  /** The bytes to send for a stored body, and all signatures of this attempt. */
  seal(delivery: { id: string; body: string }, timestampSeconds: number): SignedBody;
}

export interface SignedBody extends Omit<SentRequest, 'host' | 'contentLength'> {
  body: Buffer;
}

/**
 * Two schemes in one request (specification, section 5; standardwebhooks.com):
 * - `signature`, the body's last member, and `X-Service-Signature` are lowercase hex HMAC-SHA256 keyed with the secret
 *   string as shown (UTF-8): the first over the body without that member, the second over the exact bytes sent;
 * - `webhook-signature` is `v1,` + base64 HMAC-SHA256 of `id.timestamp.body`, keyed with the secret's 32 bytes.
 */
export function createSigner(secret: string): Signer {
  const stringKey = createSecretKey(Buffer.from(secret, 'utf8'));
  const bytesKey = createSecretKey(Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64'));
  return {
    seal({ id, body }, timestampSeconds) {
      const bodySignature = hmac(stringKey, body, 'hex');
      const bytes = Buffer.from(withSignature(body, bodySignature), 'utf8');
      const standard = createHmac('sha256', bytesKey)
        .update(`${id}.${timestampSeconds}.`)
        .update(bytes)
        .digest('base64');
      return {
        body: bytes,
        bodySignature,
        serviceSignature: hmac(stringKey, bytes, 'hex'),
        standardSignature: `v1,${standard}`,
      };
    },
  };
}

/** `body`, a JSON object, with its `signature` member appended last. */
export function withSignature(body: string, signature: string): string {
  return `${body.slice(0, -1)}${body === '{}' ? '' : ','}"signature":"${signature}"}`;
}

/** Bytes that {@link withSignature} adds; the size limit counts them. */
export const SIGNATURE_MEMBER_BYTES = `,"signature":"${'0'.repeat(64)}"`.length;

function hmac(key: KeyObject, data: string | Buffer, encoding: 'hex' | 'base64'): string {
  return createHmac('sha256', key).update(data).digest(encoding);
}
