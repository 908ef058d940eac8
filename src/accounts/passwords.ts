import { type Argon2Parameters, argon2, timingSafeEqual } from 'node:crypto';
import pLimit from 'p-limit';
import type { Random } from '../lib/random.ts';
import { normalised } from '../lib/text.ts';
import { DomainError } from '../model/errors.ts';
import { createRefuseWeak, isTooLong, type RefuseWeak, tooLong } from './weak-passwords.ts';

/** OWASP's least for argon2id: 19 MiB, two passes, one lane; 130 ms on a slow core. */
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;
const SALT_BYTES = 16;
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;
/** Each takes a thread and 19 MiB: two at a time leave threads for DNS lookups, and beyond this many waiting, requests are refused. */
const AT_ONCE = 2;
const MOST_WAITING = 50;

/** Makes and checks password hashes, a bounded number at a time. */
export interface Passwords {
  refuseWeak: RefuseWeak;
  /**
   * Argon2id in PHC form, with a salt of its own or, where the same person has passwords elsewhere, with theirs.
   * @throws DomainError `UNAVAILABLE` where too many wait, `INVALID_REQUEST` at `/password` where it is too long
   */
  hash(password: string, others?: readonly string[]): Promise<string>;
  /**
   * Which of the hashes is of that password, by its place; null where none is. One computation for all that share a salt, and
   * one where there are none or where the password is longer than any can be, so that the time taken does not reveal who is
   * known, nor in how many tenants.
   */
  find(hashes: readonly string[], password: string): Promise<number | null>;
}

/** A hash in PHC form, taken apart. */
interface PasswordHash {
  cost: Omit<Argon2Parameters, 'message'>;
  nonce: Buffer;
  tag: Buffer;
}

export function createPasswords(random: Random): Passwords {
  const turns = pLimit(AT_ONCE);

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (turns.pendingCount < MOST_WAITING) return turns(work);
    throw new DomainError('UNAVAILABLE', 'Too many people are signing in right now.', {
      retryAfterSeconds: 5,
    });
  }

  return {
    refuseWeak: createRefuseWeak(),
    async hash(password, others = []) {
      if (isTooLong(password)) throw tooLong();
      const nonce = others.map(parse).find((other) => other !== null)?.nonce ?? random.bytes(SALT_BYTES);
      const tag = await inTurn(() => derive(password, { ...COST, nonce }));
      const cost = `m=${COST.memory},t=${COST.passes},p=${COST.parallelism}`;
      return `$argon2id$v=19$${cost}$${unpadded(nonce)}$${unpadded(tag)}`;
    },
    async find(hashes, password) {
      const isPossible = !isTooLong(password);
      const message = isPossible ? password : '';
      const derived = new Map<string, Buffer>();
      const tagFor = async (cost: PasswordHash['cost']): Promise<Buffer> => {
        const key = JSON.stringify(cost);
        const tag = derived.get(key) ?? (await inTurn(() => derive(message, cost)));
        derived.set(key, tag);
        return tag;
      };
      let found: number | null = null;
      for (const [place, hash] of hashes.map(parse).entries()) {
        const fits = hash !== null && timingSafeEqual(await tagFor(hash.cost), hash.tag);
        if (isPossible && fits && found === null) found = place;
      }
      if (derived.size === 0) await tagFor({ ...COST, nonce: random.bytes(SALT_BYTES) });
      return found;
    },
  };
}

/** Null where it is no hash of ours. */
function parse(hash: string): PasswordHash | null {
  const [, memory, passes, parallelism, salt, encoded] = PHC.exec(hash) ?? [];
  if (salt === undefined || encoded === undefined) return null;
  const tag = Buffer.from(encoded, 'base64');
  const nonce = Buffer.from(salt, 'base64');
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  return { cost: { ...cost, nonce, tagLength: tag.length }, nonce, tag };
}

/** Two keyboards may write the same character in two ways (NIST SP 800-63B, 3.1.1.2). */
function derive(password: string, cost: Omit<Argon2Parameters, 'message'>): Promise<Buffer> {
  const message = normalised(password, 'NFKC');
  return new Promise((resolve, reject) => {
    argon2('argon2id', { ...cost, message }, (error, tag) => (error === null ? resolve(tag) : reject(error)));
  });
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
