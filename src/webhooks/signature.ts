import { hash } from 'node:crypto';
import type { Random } from '../lib/random.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import type { BodyBytes, SentRequest } from '../model/delivery.ts';
import type { Endpoint } from '../model/webhook.ts';
import { eventIdIn } from './payload.ts';

const SECRET_PREFIX = 'whsec_';
/** Of `{}`, which has no member before the signature. */
const EMPTY_BYTES = 2;

/** A new endpoint secret: `whsec_` + base64 of 32 random bytes, the form of Standard Webhooks. */
export function generateSecret(random: Random): string {
  return SECRET_PREFIX + random.bytes(32).toString('base64');
}

/** Signs one endpoint's deliveries; keys are prepared once, since an attempt needs three HMACs. */
export interface Signer {
  /** The bytes to send for a stored body, and all signatures of this attempt. */
  seal(delivery: BodyBytes & { id: string }, timestampSeconds: number): SignedBody;
}

export interface SignedBody extends Omit<SentRequest, 'host' | 'contentLength'> {
  body: Buffer;
}

/** The secret before, which counts beside the new one up to a moment (Unix milliseconds). */
export interface PreviousSecret {
  secret: string;
  untilMs: number;
}

/**
 * Two schemes in one request (specification, section 5; standardwebhooks.com):
 * - `signature`, the body's last member, and `X-Service-Signature` are lowercase hex HMAC-SHA256 keyed with the secret
 *   string as shown (UTF-8): the first over the body without that member, the second over the exact bytes sent;
 * - `webhook-signature` is `v1,` + base64 HMAC-SHA256 of `id.timestamp.body`, keyed with the secret's 32 bytes; while
 *   `previous` counts too, one by that follows after a space.
 */
export function createSigner(secret: string, previous: PreviousSecret | null = null): Signer {
  const withString = createHmacSha256(Buffer.from(secret, 'utf8'));
  const withBytes = createHmacSha256(keyOf(secret));
  const before = previous === null ? null : createHmacSha256(keyOf(previous.secret));
  const beforeUntil = Math.floor((previous?.untilMs ?? 0) / 1_000);
  return {
    seal({ id, bytes, start: from, end: to }, timestampSeconds) {
      // One buffer for all: key block, what the standard signature has before the body, the body with its last member.
      const head = `${id}.${timestampSeconds}.`;
      const start = BLOCK_BYTES + head.length;
      const buffer = Buffer.allocUnsafe(start + to - from + SIGNATURE_MEMBER_BYTES);
      const bodyEnd = start + bytes.copy(buffer, start, from, to);
      const bodySignature = withString.digest(buffer, start, bodyEnd, 'hex');

      const member = withSignature('{}', bodySignature).slice(1);
      const brace = bodyEnd - 1; // is written over
      const isEmpty = to - from === EMPTY_BYTES;
      const end = brace + buffer.write(isEmpty ? member : `,${member}`, brace, 'latin1');
      const serviceSignature = withString.digest(buffer, start, end, 'hex');

      buffer.write(head, BLOCK_BYTES, 'latin1');
      let standardSignature = `v1,${withBytes.digest(buffer, BLOCK_BYTES, end, 'base64')}`;
      if (before !== null && timestampSeconds < beforeUntil) {
        standardSignature += ` v1,${before.digest(buffer, BLOCK_BYTES, end, 'base64')}`;
      }
      buffer.fill(0, 0, start); // keys: the memory is pooled, and what it is used for next is not ours to know
      return { body: buffer.subarray(start, end), bodySignature, serviceSignature, standardSignature };
    },
  };
}

/**
 * Signs by Standard Webhooks alone, and sends bodies as they are: what MCP clients verify. An event's `webhook-id` is the
 * event's own, whichever delivery of it this is.
 */
export function createStandardSigner(secret: string, previous: PreviousSecret | null = null): Signer {
  const hmacs = [secret, ...(previous === null ? [] : [previous.secret])].map((each) =>
    createHmacSha256(keyOf(each)),
  );
  const beforeUntil = Math.floor((previous?.untilMs ?? 0) / 1_000);
  return {
    seal({ id, ...stored }, timestampSeconds) {
      const webhookId = eventIdIn(stored) ?? id;
      const head = `${webhookId}.${timestampSeconds}.`;
      const start = BLOCK_BYTES + head.length;
      const buffer = Buffer.allocUnsafe(start + stored.end - stored.start);
      buffer.write(head, BLOCK_BYTES, 'latin1');
      const end = start + stored.bytes.copy(buffer, start, stored.start, stored.end);
      const counting = timestampSeconds < beforeUntil ? hmacs : hmacs.slice(0, 1);
      const signatures = counting.map((hmac) => `v1,${hmac.digest(buffer, BLOCK_BYTES, end, 'base64')}`);
      buffer.fill(0, 0, BLOCK_BYTES);
      const standardSignature = signatures.join(' ');
      return {
        body: buffer.subarray(start, end),
        bodySignature: '',
        serviceSignature: '',
        standardSignature,
        webhookId,
      };
    },
  };
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
}

/** `body`, a JSON object, with its `signature` member appended last; as it is where it was sent without one. */
export function withSignature(body: string, signature: string): string {
  if (signature === '') return body;
  return `${body.slice(0, -1)}${body === '{}' ? '' : ','}"signature":"${signature}"}`;
}

/** Bytes that {@link withSignature} adds; the size limit counts them. */
export const SIGNATURE_MEMBER_BYTES = `,"signature":"${'0'.repeat(64)}"`.length;

/** SHA-256's block; an HMAC's key fills one. */
const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;

/** HMAC-SHA256 (RFC 2104) under one key. */
export interface Hmac {
  /**
   * Authenticates the bytes from `start` to `end` of `buffer`. The {@link BLOCK_BYTES} before `start` are written over,
   * with what is as good as the key: they are to be cleared before anybody else sees the buffer.
   */
  digest(buffer: Buffer, start: number, end: number, encoding: 'hex' | 'base64'): string;
}

/**
 * From two one-shot digests, the first over key block and message in one piece. Node's `createHmac` makes a stream, a
 * context and a look-up of the algorithm each time: the three of a delivery took 8.4 us of processor time, these 4.9. A
 * test holds it to `createHmac`.
 */
function createHmacSha256(key: Uint8Array): Hmac {
  const short = key.length > BLOCK_BYTES ? hash('sha256', key, 'buffer') : key;
  const block = Buffer.alloc(BLOCK_BYTES);
  block.set(short);
  const innerKey = block.map((byte) => byte ^ INNER_PAD);
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);
  outer.set(block.map((byte) => byte ^ OUTER_PAD));

  return {
    digest(buffer, start, end, encoding) {
      buffer.set(innerKey, start - BLOCK_BYTES);
      // As text of one byte a character: a buffer of its own for 32 bytes costs more than the digest.
      outer.write(hash('sha256', buffer.subarray(start - BLOCK_BYTES, end), 'binary'), BLOCK_BYTES, 'latin1');
      return hash('sha256', outer, encoding);
    },
  };
}

/** What signs an endpoint's deliveries: with its secret, and while a grace lasts with the one before. @throws where a box cannot be opened */
export function signerOf(secretBox: SecretBox, endpoint: Endpoint): Signer {
  const { id, previousSecretBox: box, previousSecretUntil: untilMs } = endpoint;
  const previous = box === null || untilMs === null ? null : { secret: secretBox.open(box, id), untilMs };
  const create = endpoint.mode === 'mcp' ? createStandardSigner : createSigner;
  return create(secretBox.open(endpoint.secretBox, id), previous);
}
