import { systemRandom } from './random.ts';
import { createSecretBox, deriveKey } from './secret-box.ts';

/** What tells one master key from another without being it. */
export interface KeyProof {
  /** Where the key was found, as an operator knows it: `SECRETS_KEY`, or a path. */
  source: string;
  /** Derived from the key alone; nothing leads back from it. */
  check: string;
  /** The same of the keys before it, which still open what they closed. */
  olderChecks: readonly string[];
  /** Whether the key opens what was sealed in `context`. */
  opens(box: Uint8Array, context: string): boolean;
}

/** The proof of `masterKey` (32 bytes) and the keys before it. */
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
