import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { codePointLength, normalised } from '../lib/text.ts';
import { type DomainError, invalidAt } from '../model/errors.ts';

export const MIN_PASSWORD_CHARACTERS = 10;
const MAX_PASSWORD_CHARACTERS = 200;

/** How many characters a password needs besides words that are guessed first. */
const MIN_OWN_CHARACTERS = 6;
/** A shorter word of an address or a name may stand in any password. */
const MIN_WORD_CHARACTERS = 4;
/** Fewer different characters, or fewer runs such as `abc` and `999`, are tried by counting up. */
const MIN_VARIETY = 5;
const PRODUCT = 'signalpost';

/** The owner of the password: these facts are guessed first. */
export interface PasswordOwner {
  email: string;
  /** The tenant's name. */
  firm: string;
}

/** Refuses what is too short, too long, or guessed early. @throws DomainError `INVALID_REQUEST` at `/password` */
export type RefuseWeak = (password: string, owner: PasswordOwner) => void;

/** The rules for new passwords. The list of common ones is read when it is first needed. */
export function createRefuseWeak(): RefuseWeak {
  const isListed = createListed();
  return (password, owner) => refuseWeak(password, owner, isListed);
}

function refuseWeak(password: string, owner: PasswordOwner, isListed: Listed): void {
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
      "Choose a password that is more than your address or your company's name: those are tried first.",
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
export function isTooLong(password: string): boolean {
  return password.length > 2 * MAX_PASSWORD_CHARACTERS || codePointLength(password) > MAX_PASSWORD_CHARACTERS;
}

export function tooLong(): DomainError {
  return invalidAt('/password', `Choose a password of at most ${MAX_PASSWORD_CHARACTERS} characters.`);
}

/** What a guess at this person's password is made of, longest first, so that a part is not taken out of a whole. */
function wordsOf({ email, firm }: PasswordOwner): string[] {
  const name = normalised(firm, 'NFKC').toLowerCase();
  const parts = `${email.toLowerCase()} ${name}`.split(/[^\p{L}\p{N}]+/u);
  return [email.toLowerCase(), name, name.replace(/[^\p{L}\p{N}]/gu, ''), PRODUCT, ...parts]
    .filter((word) => codePointLength(word) >= MIN_WORD_CHARACTERS)
    .sort((a, b) => b.length - a.length);
}

/** Whether it is a common password, that word over and over, or one with a few digits or signs before and behind. */
function isCommon(folded: string, isListed: Listed): boolean {
  const unit = /^(.+?)\1+$/su.exec(folded)?.[1] ?? folded;
  const core = unit.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
  if (isListed(unit)) return true;
  return core.length >= MIN_WORD_CHARACTERS && isListed(core) && isLittle(unit.replace(core, ''));
}

function isLittle(text: string): boolean {
  return codePointLength(text.replace(/(.)\1+/gsu, '$1')) < MIN_OWN_CHARACTERS;
}

/** Runs of characters that follow one another in the same step: `abc`, `321` and `aaa` are one each. */
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

/** Whether a word is among the passwords that are used most. */
type Listed = (word: string) => boolean;

/** The list has one a line, with a line break before the first: to open it takes 5 ms, a search 0.4 ms, and no table of 97,000. */
function createListed(): Listed {
  let list: string | null = null;
  return (word) => {
    list ??= brotliDecompressSync(readFileSync(LIST)).toString('latin1');
    return !word.includes('\n') && list.includes(`\n${word}\n`);
  };
}
