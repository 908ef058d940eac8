import { type Argon2Parameters, argon2, createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import type { Clock } from '../lib/clock.ts';
import { largestOf } from '../lib/lists.ts';
import { createLimits, createSharedLimit } from '../lib/queues.ts';
import type { Random } from '../lib/random.ts';
import { codePointLength, normalised } from '../lib/text.ts';
import { createWindows, type Window } from '../lib/windows.ts';
import { DomainError, invalidAt } from '../model/errors.ts';
import type { Store } from '../store/store.ts';

/** OWASP's minimum for argon2id: 19 MiB, two passes, one lane; 130 ms on a slow core. */
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;
const SALT_BYTES = 16;
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;
/**
 * Each hash takes a thread and 19 MiB: two at a time leave threads for DNS lookups. Clients take turns: the attempts that one client
 * may make at once take three seconds. If too many of a client wait, its requests are refused.
 */
const AT_ONCE = 2;
const MOST_WAITING = 50;

/** Computes and verifies password hashes, with bounded concurrency. */
export interface Passwords {
  refuseWeak: RefuseWeak;
  /**
   * Argon2id in PHC form, with its own salt or, if the same user has passwords in other tenants, with theirs.
   * @throws DomainError `UNAVAILABLE` if too many of the client are waiting, `INVALID_REQUEST` at `/password` if it is too long
   */
  hash(password: string, from: { client: string; others?: readonly string[] }): Promise<string>;
  /**
   * The index of the hash that matches the password; null if none does. Hashes that share a salt take one
   * computation, and so do an empty list and a password above the maximum length, so that the duration reveals
   * neither whether the user exists nor in how many tenants.
   */
  find(hashes: readonly string[], password: string, from: { client: string }): Promise<number | null>;
}

/** A parsed hash in PHC form. */
interface PasswordHash {
  cost: Omit<Argon2Parameters, 'message'>;
  nonce: Buffer;
  tag: Buffer;
}

export function createPasswords(random: Random): Passwords {
  const ofClient = createLimits(AT_ONCE, { most: MOST_WAITING, error: tooManyWaiting });
  const ofAll = createSharedLimit(AT_ONCE);

  function inTurn<T>(client: string, work: () => Promise<T>): Promise<T> {
    return ofClient(client, () => ofAll(client, work));
  }

  return {
    refuseWeak: createRefuseWeak(),
    async hash(password, { client, others = [] }) {
      if (isTooLong(password)) throw tooLong();
      const nonce = others.map(parse).find((other) => other !== null)?.nonce ?? random.bytes(SALT_BYTES);
      const tag = await inTurn(client, () => derive(password, { ...COST, nonce }));
      const cost = `m=${COST.memory},t=${COST.passes},p=${COST.parallelism}`;
      return `$argon2id$v=19$${cost}$${unpadded(nonce)}$${unpadded(tag)}`;
    },
    async find(hashes, password, { client }) {
      const isPossible = !isTooLong(password);
      const message = isPossible ? password : '';
      const derived = new Map<string, Buffer>();
      const tagFor = async (cost: PasswordHash['cost']): Promise<Buffer> => {
        const key = JSON.stringify(cost);
        const tag = derived.get(key) ?? (await inTurn(client, () => derive(message, cost)));
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

function tooManyWaiting(): DomainError {
  return new DomainError('UNAVAILABLE', 'Too many people are signing in right now.', {
    retryAfterSeconds: 5,
  });
}

/** Null if it is not one of our hashes. */
function parse(hash: string): PasswordHash | null {
  const [, memory, passes, parallelism, salt, encoded] = PHC.exec(hash) ?? [];
  if (salt === undefined || encoded === undefined) return null;
  const tag = Buffer.from(encoded, 'base64');
  const nonce = Buffer.from(salt, 'base64');
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  return { cost: { ...cost, nonce, tagLength: tag.length }, nonce, tag };
}

/** Normalises the password: two keyboards may encode the same character in two ways (NIST SP 800-63B, 3.1.1.2). */
function derive(password: string, cost: Omit<Argon2Parameters, 'message'>): Promise<Buffer> {
  const message = normalised(password, 'NFKC');
  return new Promise((resolve, reject) => {
    argon2('argon2id', { ...cost, message }, (error, tag) => (error === null ? resolve(tag) : reject(error)));
  });
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}

export const MIN_PASSWORD_CHARACTERS = 10;
const MAX_PASSWORD_CHARACTERS = 200;

/** The minimum number of characters in a password besides the words that attackers guess first. */
const MIN_OWN_CHARACTERS = 6;
/** Shorter parts of an address or name are too common to refuse. */
const MIN_WORD_CHARACTERS = 4;
/** With fewer distinct characters, or fewer runs such as `abc` and `999`, a password falls to simple enumeration. */
const MIN_VARIETY = 5;
const PRODUCT = 'signalpost';

/** The owner of the password: these facts are guessed first. */
export interface PasswordOwner {
  email: string;
  /** The tenant's name. */
  firm: string;
}

/**
 * Refuses passwords that are too short, too long or easy to guess. @throws DomainError `INVALID_REQUEST` at
 * `/password`
 */
type RefuseWeak = (password: string, owner: PasswordOwner) => void;

/** The rules for new passwords. The list of common passwords is read on first use. */
export function createRefuseWeak(): RefuseWeak {
  const isListed = createCommonWords();
  return (password, owner) => refuseWeak(password, owner, isListed);
}

function refuseWeak(password: string, owner: PasswordOwner, isListed: IsCommonWord): void {
  if (isTooLong(password)) throw tooLong();
  if (codePointLength(password) < MIN_PASSWORD_CHARACTERS) {
    throw invalidAt('/password', `Choose a password of at least ${MIN_PASSWORD_CHARACTERS} characters.`);
  }
  const folded = normalised(password, 'NFKC').toLowerCase();
  if (new Set(folded).size < MIN_VARIETY || countRuns(folded) < MIN_VARIETY) {
    throw invalidAt('/password', 'That password is too easy to guess. Choose another.');
  }
  const left = wordsOf(owner).reduce((text, word) => text.replaceAll(word, ''), folded);
  if (left !== folded && isLittle(left)) {
    throw invalidAt(
      '/password',
      'That password is mostly your email address or company name, which attackers try first. Add a few unrelated words.',
    );
  }
  if (isCommon(folded, isListed)) {
    throw invalidAt(
      '/password',
      'That password is one of the most common ones, which attackers try first. A few unrelated words make a good one.',
    );
  }
}

/** Whether a password is longer than any that is accepted. A code point has at most two UTF-16 units, so a long text needs no counting. */
function isTooLong(password: string): boolean {
  return password.length > 2 * MAX_PASSWORD_CHARACTERS || codePointLength(password) > MAX_PASSWORD_CHARACTERS;
}

function tooLong(): DomainError {
  return invalidAt('/password', `Choose a password of at most ${MAX_PASSWORD_CHARACTERS} characters.`);
}

/** Words that attackers guess for this user, longest first, so that a part is not removed before the whole. */
function wordsOf({ email, firm }: PasswordOwner): string[] {
  const name = normalised(firm, 'NFKC').toLowerCase();
  const parts = `${email.toLowerCase()} ${name}`.split(/[^\p{L}\p{N}]+/u);
  return [email.toLowerCase(), name, name.replace(/[^\p{L}\p{N}]/gu, ''), PRODUCT, ...parts]
    .filter((word) => codePointLength(word) >= MIN_WORD_CHARACTERS)
    .sort((a, b) => b.length - a.length);
}

/** Whether it is a common password, repetitions of one, or one with a few digits or symbols before or after it. */
function isCommon(folded: string, isListed: IsCommonWord): boolean {
  const unit = /^(.+?)\1+$/su.exec(folded)?.[1] ?? folded;
  const core = unit.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
  if (isListed(unit)) return true;
  return core.length >= MIN_WORD_CHARACTERS && isListed(core) && isLittle(unit.replace(core, ''));
}

function isLittle(text: string): boolean {
  return codePointLength(text.replace(/(.)\1+/gsu, '$1')) < MIN_OWN_CHARACTERS;
}

/** Counts runs of characters with a constant step: `abc`, `321` and `aaa` are one run each. */
function countRuns(text: string): number {
  const codes = Array.from(text, (character) => character.codePointAt(0) ?? 0);
  let runs = 0;
  let step: number | null = null;
  for (let i = 0; i < codes.length; i++) {
    const next: number = (codes[i] ?? 0) - (codes[i - 1] ?? Number.NaN);
    if (step !== null && next === step) continue;
    const begins = Math.abs(next) <= 1 && step === null && i > 0;
    if (begins) step = next;
    else {
      runs++;
      step = null;
    }
  }
  return runs;
}

const LIST = new URL('./common-passwords/list.txt.br', import.meta.url);

/** Whether a word is among the most common passwords. */
type IsCommonWord = (word: string) => boolean;

/**
 * The list has one password per line, with a leading line break: opening it takes 5 ms, a search 0.4 ms, without a
 * table of 97,000 entries.
 */
function createCommonWords(): IsCommonWord {
  let list: string | null = null;
  return (word) => {
    list ??= brotliDecompressSync(readFileSync(LIST)).toString('latin1');
    return !word.includes('\n') && list.includes(`\n${word}\n`);
  };
}

const WINDOW_MS = 15 * 60_000;

/** Counts password attempts, and refuses further ones when there were too many. */
export interface WrongPasswords {
  /** Counts an attempt before it is made. If there were too many, nothing is counted, and the wait is returned. */
  take(email: string, client: string): Wait | null;
  /** After a correct password: resets the count of this attempt and the previous ones. */
  forgive(email: string, client: string): void;
}

/** Shares the counts with other nodes, under a name. */
interface SharedTries {
  name: string;
  shareCounts: Store['shareCounts'];
}

/** The refusal of an attempt. */
export interface Wait {
  ms: number;
  /** Whether it is the first refusal in this window: the moment of the lockout. */
  isFirst: boolean;
}

/** Attempts in 15 minutes: for one name from one client, for one name from any client, and from one client. */
interface TryLimits {
  pair: number;
  email: number;
  client: number;
}

export const PASSWORD_TRIES: TryLimits = { pair: 5, email: 50, client: 50 };
/**
 * An attacker at this step knows the password. Three of a million codes are valid at a time: ten attempts succeed
 * with 0.003 %.
 */
export const CODE_TRIES: TryLimits = { pair: 5, email: 10, client: 50 };
/** Each attempt sends an email: strangers must not be able to flood a mailbox. */
export const RESET_TRIES: TryLimits = { pair: 3, email: 5, client: 20 };

/**
 * Unknown names are counted like known ones, so that a refusal reveals nothing. A refused attempt creates no window,
 * and no open window is evicted for another: neither can reset the count of a name. With `shared`, nodes count together
 * except for what each counted in the last moment.
 */
export function createWrongPasswords(
  clock: Clock,
  limits = PASSWORD_TRIES,
  shared?: SharedTries,
): WrongPasswords {
  const windows = createWindows(clock, WINDOW_MS);
  const share = shared?.shareCounts(shared.name, (key, count) => {
    const window = count > 0 ? windows.open(key) : windows.find(key);
    if (window !== null) window.count = Math.max(0, window.count + count);
  });

  /** Hashed: names and addresses are not sent to other nodes. */
  function keysOf(email: string, client: string) {
    const name = email.trim().toLowerCase().slice(0, 254);
    return {
      pair: hashOf(`pair ${client} ${name}`),
      email: hashOf(`email ${name}`),
      client: hashOf(`client ${client}`),
    };
  }

  function add(key: string, window: Window, count: number): void {
    window.count += count;
    share?.(key, count);
  }

  return {
    take(email, client) {
      const keys = keysOf(email, client);
      const names = ['pair', 'email', 'client'] as const;
      const full = names
        .map((name) => ({ window: windows.find(keys[name]), limit: limits[name] }))
        .flatMap(({ window, limit }) => (window !== null && window.count >= limit ? [window] : []));
      if (full.length > 0) {
        const isFirst = full.some(({ isReported }) => !isReported);
        for (const window of full) window.isReported = true;
        return { ms: largestOf(full.map(windows.left)), isFirst };
      }
      for (const name of names) add(keys[name], windows.open(keys[name]), 1);
      return null;
    },
    forgive(email, client) {
      const { pair, ...others } = keysOf(email, client);
      const own = windows.find(pair);
      if (own !== null) add(pair, own, own.isShared ? -Math.min(1, own.count) : -own.count);
      for (const key of Object.values(others)) {
        const window = windows.find(key);
        if (window !== null && window.count > 0) add(key, window, -1);
      }
    },
  };
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 22);
}
