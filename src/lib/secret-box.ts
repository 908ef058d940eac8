import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync } from 'node:crypto';
import { type Random, systemRandom } from './random.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts small secrets at rest with AES-256-GCM, bound to a context so that a box cannot be moved to
 * another row.
 */
export interface SecretBox {
  seal(plain: string, context: string): Buffer;
  /** @throws if the key, the context or the bytes differ from those at sealing. */
  open(box: Uint8Array, context: string): string;
}

/**
 * Seals with `masterKey` (32 bytes), and opens boxes sealed with it or with one of `olderKeys`. Layout: nonce
 * (12) + tag (16) + ciphertext.
 */
export function createSecretBox(
  masterKey: Buffer,
  random: Random,
  olderKeys: readonly Buffer[] = [],
): SecretBox {
  const key = deriveKey(masterKey, 'secret-box');
  const older = olderKeys.map((each) => deriveKey(each, 'secret-box'));
  return {
    seal(plain, context) {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]);
    },
    open(box, context) {
      const sealed = Buffer.from(box);
      for (const [index, each] of [key, ...older].entries()) {
        try {
          return openWith(each, sealed, context);
        } catch (error) {
          if (index === older.length) throw error;
        }
      }
      throw new Error('there is no key');
    },
  };
}

function openWith(key: Buffer, bytes: Buffer, context: string): string {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES));
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
}

/** Derives a 32-byte key for one purpose, so that no two uses share a key (HKDF-SHA256, RFC 5869). */
export function deriveKey(masterKey: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', `signalpost/${purpose}`, 32));
}

/** Identifies a master key without revealing it. */
export interface KeyProof {
  /** The origin of the key, for operators: `SECRETS_KEY`, or a path. */
  source: string;
  /** Derived one-way from the key alone. */
  check: string;
  /** The checks of older keys, which still open boxes sealed with them. */
  olderChecks: readonly string[];
  /** Whether the key opens a box that was sealed in `context`. */
  opens(box: Uint8Array, context: string): boolean;
}

/** Creates the proof of `masterKey` (32 bytes) and its older keys. */
export function createKeyProof(
  masterKey: Buffer,
  source: string,
  olderKeys: readonly Buffer[] = [],
): KeyProof {
  const box = createSecretBox(masterKey, systemRandom, olderKeys);
  return {
    source,
    check: checkOf(masterKey),
    olderChecks: olderKeys.map(checkOf),
    opens(sealed, context) {
      try {
        box.open(sealed, context);
        return true;
      } catch {
        return false;
      }
    },
  };
}

function checkOf(key: Buffer): string {
  return deriveKey(key, 'key-check').toString('hex');
}

/** Randomness that is reproducible from a seed, and unpredictable without the key. */
export type SeededRandom = (seed: string) => Random;

const FRACTION_BYTES = 4;

/** One stream per seed: AES-256-CTR over zeros, with a key derived from the seed and `masterKey`. */
export function createSeededRandom(masterKey: Buffer): SeededRandom {
  const key = createSecretKey(deriveKey(masterKey, 'seeded-random'));
  return (seed) => {
    const streamKey = createHmac('sha256', key).update(seed).digest();
    const stream = createCipheriv('aes-256-ctr', streamKey, Buffer.alloc(16));
    const bytes = (size: number) => stream.update(Buffer.alloc(size));
    return { bytes, fraction: () => bytes(FRACTION_BYTES).readUInt32BE() / 2 ** 32 };
  };
}
