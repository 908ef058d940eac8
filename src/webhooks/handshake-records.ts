import { createDecipheriv, createHmac, type DecipherGCM } from 'node:crypto';

const [HANDSHAKE, APPLICATION_DATA] = [22, 23];
const HEAD_BYTES = 5;
const TAG_BYTES = 16;
/** Every version of TLS has it; OpenSSL ends a handshake with any other. */
const MAJOR_VERSION = 3;

/**
 * How a curve begins that is given by its own numbers instead of its name (`id-fieldType` of RFC 3279, section 2.3.5).
 * Public authorities sign no such keys (RFC 5480, section 2.1.1). To read one, OpenSSL computes two square roots modulo a
 * number that the server chose: 70 ms each for 660 bits, two seconds for the certificates of one handshake.
 */
const OWN_CURVE = Buffer.from('2a8648ce3d01', 'hex');

/** The ciphers of TLS 1.3 that we offer, by the size of their secrets. Whichever can decrypt a record is the one in use. */
const CIPHERS = [
  { secretBytes: 48, hash: 'sha384', cipher: 'aes-256-gcm', keyBytes: 32 },
  { secretBytes: 32, hash: 'sha256', cipher: 'aes-128-gcm', keyBytes: 16 },
  { secretBytes: 32, hash: 'sha256', cipher: 'chacha20-poly1305', keyBytes: 32 },
] as const;

/**
 * Reads what a server sends during a TLS handshake before OpenSSL does, record by record. In TLS 1.3 it is encrypted, with
 * a secret that the TLS client derives from the first record and reports (`keylog`).
 */
export interface HandshakeRecords {
  add(bytes: Buffer): void;
  /** Takes a line of the key log. */
  learn(line: Buffer): void;
  /** The next complete record; null if it is not complete, or if the secret that it takes is not known yet. */
  next(): Buffer | null;
  /** Whatever was received after the records that `next` has returned. */
  rest(): Buffer;
  /**
   * Whether bytes received after the handshake belong to another one, which we never want. A server may request one as often
   * as it likes in TLS 1.2; 4,096 requests in one record took OpenSSL 0.7 s to refuse.
   */
  isAnother(bytes: Buffer): boolean;
  /** Whether a record contained what OpenSSL must not read. */
  readonly isHostile: boolean;
}

interface Key {
  cipher: (typeof CIPHERS)[number]['cipher'];
  key: Buffer;
  iv: Buffer;
}

export function createHandshakeRecords(): HandshakeRecords {
  let received: Buffer = Buffer.alloc(0);
  let keys: Key[] = [];
  /** Whether encrypted records can be read: in TLS 1.2, there are none before the handshake is complete. */
  let hasSecret = false;
  let isOldTls = false;
  /** What was received of the current record's head, and how much of its content was not, after the handshake. */
  let head: Buffer = Buffer.alloc(0);
  let unreadBytes = 0;
  let sequence = 0;
  /** The end of the previous record, because what is searched for may continue in the next one. */
  let end: Buffer = Buffer.alloc(0);
  let isHostile = false;

  function search(content: Buffer): void {
    const text = Buffer.concat([end, content]);
    isHostile ||= text.includes(OWN_CURVE);
    end = text.subarray(Math.max(0, text.length - OWN_CURVE.length + 1));
  }

  /** A record that cannot be decrypted is none of the handshake, or OpenSSL cannot decrypt it either. */
  function searchEncrypted(record: Buffer): void {
    for (const key of keys) {
      const inner = decrypted(record, key, sequence);
      if (inner === null) continue;
      keys = [key];
      sequence++;
      // The type is behind the content, before zeros (RFC 8446, section 5.2).
      const at = inner.findLastIndex((byte) => byte !== 0);
      if (inner[at] === HANDSHAKE) search(inner.subarray(0, at));
      return;
    }
  }

  return {
    get isHostile() {
      return isHostile;
    },
    add(bytes) {
      received = Buffer.concat([received, bytes]);
    },
    learn(line) {
      const [label = '', , secret = ''] = line.toString('latin1').trim().split(' ');
      if (label === 'SERVER_HANDSHAKE_TRAFFIC_SECRET') keys = keysOf(Buffer.from(secret, 'hex'));
      else if (label !== 'CLIENT_RANDOM') return;
      isOldTls = label === 'CLIENT_RANDOM';
      hasSecret = true;
    },
    next() {
      if (received.length < HEAD_BYTES) return null;
      const isTls = received[1] === MAJOR_VERSION;
      const size = isTls ? HEAD_BYTES + received.readUInt16BE(3) : received.length;
      if (received.length < size) return null;
      const record = received.subarray(0, size);
      if (isTls && record[0] === HANDSHAKE) search(record.subarray(HEAD_BYTES));
      if (isTls && record[0] === APPLICATION_DATA) {
        if (!hasSecret) return null;
        searchEncrypted(record);
      }
      received = received.subarray(size);
      return record;
    },
    rest() {
      const rest = received;
      received = Buffer.alloc(0);
      return rest;
    },
    isAnother(bytes) {
      // In TLS 1.3, all records look like data.
      for (let at = 0; isOldTls && at < bytes.length; ) {
        const passed = Math.min(unreadBytes, bytes.length - at);
        unreadBytes -= passed;
        at += passed;
        const part = bytes.subarray(at, at + HEAD_BYTES - head.length);
        if (part.length === 0) break;
        head = Buffer.concat([head, part]);
        at += part.length;
        if (head[0] === HANDSHAKE) return true;
        if (head.length < HEAD_BYTES) break;
        unreadBytes = head.readUInt16BE(3);
        head = Buffer.alloc(0);
      }
      return false;
    },
  };
}

/** The keys that a secret yields (RFC 8446, section 7.3), for each cipher with secrets of this size. */
function keysOf(secret: Buffer): Key[] {
  return CIPHERS.filter(({ secretBytes }) => secretBytes === secret.length).map(
    ({ hash, cipher, keyBytes }) => {
      const derived = (label: string, bytes: number) => {
        const name = Buffer.from(`tls13 ${label}`);
        const info = Buffer.from([0, bytes, name.length, ...name, 0, 1]);
        return createHmac(hash, secret).update(info).digest().subarray(0, bytes);
      };
      return { cipher, key: derived('key', keyBytes), iv: derived('iv', 12) };
    },
  );
}

function decrypted(record: Buffer, { cipher, key, iv }: Key, sequence: number): Buffer | null {
  if (record.length < HEAD_BYTES + TAG_BYTES) return null;
  const nonce = Buffer.from(iv);
  nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ sequence) >>> 0, 8);
  // Node has no type for the options of both ciphers.
  const decipher = createDecipheriv(cipher as 'aes-128-gcm', key, nonce, { authTagLength: TAG_BYTES });
  return opened(decipher, record);
}

function opened(decipher: DecipherGCM, record: Buffer): Buffer | null {
  const tagAt = record.length - TAG_BYTES;
  decipher.setAAD(record.subarray(0, HEAD_BYTES)).setAuthTag(record.subarray(tagAt));
  try {
    const inner = decipher.update(record.subarray(HEAD_BYTES, tagAt));
    decipher.final();
    return inner;
  } catch {
    return null;
  }
}
