import type { Random } from '../lib/random.ts';
import type { SentRequest } from '../model/delivery.ts';
import { createHmacSha256, MESSAGE_START } from './hmac.ts';

const SECRET_PREFIX = 'whsec_';

/** A new endpoint secret: `whsec_` + base64 of 32 random bytes, the form of Standard Webhooks. */
export function generateSecret(random: Random): string {
  return SECRET_PREFIX + random.bytes(32).toString('base64');
}

/** Signs one endpoint's deliveries; keys are prepared once, since an attempt needs three HMACs. */
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
  const withString = createHmacSha256(Buffer.from(secret, 'utf8'));
  const withBytes = createHmacSha256(Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64'));
  return {
    seal({ id, body }, timestampSeconds) {
      const bodyBytes = Buffer.byteLength(body, 'utf8');
      const buffer = withString.reserve(bodyBytes + SIGNATURE_MEMBER_BYTES);
      buffer.write(body, MESSAGE_START, 'utf8');
      const unsigned = buffer.subarray(0, MESSAGE_START + bodyBytes);
      const bodySignature = withString.digest(unsigned, 'hex');
      const member = withSignature('{}', bodySignature).slice(1);
      const tail = body === '{}' ? member : `,${member}`;
      const brace = unsigned.length - 1; // is written over
      const end = brace + buffer.write(tail, brace, 'latin1');
      const signed = buffer.subarray(0, end);
      const bytes = signed.subarray(MESSAGE_START);

      const head = `${id}.${timestampSeconds}.`;
      const standard = withBytes.reserve(head.length + bytes.length);
      standard.write(head, MESSAGE_START, 'latin1');
      standard.set(bytes, MESSAGE_START + head.length);
      const sealed: SignedBody = {
        body: bytes,
        bodySignature,
        serviceSignature: withString.digest(signed, 'hex'),
        standardSignature: `v1,${withBytes.digest(standard, 'base64')}`,
      };
      withString.clear(buffer);
      withBytes.clear(standard);
      return sealed;
    },
  };
}

/** `body`, a JSON object, with its `signature` member appended last. */
export function withSignature(body: string, signature: string): string {
  return `${body.slice(0, -1)}${body === '{}' ? '' : ','}"signature":"${signature}"}`;
}

/** Bytes that {@link withSignature} adds; the size limit counts them. */
export const SIGNATURE_MEMBER_BYTES = `,"signature":"${'0'.repeat(64)}"`.length;
