import { hash } from 'node:crypto';

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;

/** Authenticates `data` under the key it was made for. */
export type Hmac = (data: Uint8Array, encoding: 'hex' | 'base64') => string;

/**
 * HMAC-SHA256 (RFC 2104) from two one-shot digests. Node's `createHmac` makes a stream, a context and a lookup of the
 * algorithm each time: 3.2 µs for 1 KB, this 2.1 µs, and every attempt needs three. A test holds it to `createHmac`.
 */
export function createHmacSha256(key: Uint8Array): Hmac {
  const short = key.length > BLOCK_BYTES ? hash('sha256', key, 'buffer') : key;
  const block = Buffer.alloc(BLOCK_BYTES);
  block.set(short);
  const innerKey = block.map((byte) => byte ^ INNER_PAD);
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);
  outer.set(block.map((byte) => byte ^ OUTER_PAD));

  return (data, encoding) => {
    const inner = Buffer.allocUnsafe(BLOCK_BYTES + data.length);
    inner.set(innerKey);
    inner.set(data, BLOCK_BYTES);
    outer.set(hash('sha256', inner, 'buffer'), BLOCK_BYTES);
    return hash('sha256', outer, encoding);
  };
}
