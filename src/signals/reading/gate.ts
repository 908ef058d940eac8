import { type Beginning, beginningsOf } from './beginnings.ts';
import type { Cue } from './cue.ts';

/** The cues that may match a sentence: each that matches is among them. */
export type Gate = (sentence: string) => ReadonlySet<Cue>;

interface Entry {
  /** Cues that a word opens which begins so, and those that one opens which is no longer. */
  begins: Cue[];
  whole: Cue[];
}

/** Letters of a word that are looked at. */
const LETTERS = 5;
/** One more than the kinds of characters that words are made of. */
const BASE = 38;

/**
 * Tells of a sentence which cues are worth trying on it, by the words that it holds. To try each of seventy patterns on each
 * sentence was most of what reading a post took.
 */
export function createGate(cues: readonly Cue[]): Gate {
  const always: Cue[] = [];
  const entries = new Map<number, Entry>();
  for (const cue of cues) {
    const beginnings = beginningsOf(cue.pattern);
    if (beginnings === null) always.push(cue);
    else for (const beginning of beginnings) add(entries, beginning, cue);
  }

  return (sentence) => {
    const open = new Set(always);
    let [word, letters]: [Entry | undefined, number] = [undefined, 0];
    let code = 0;
    for (let i = 0; i < sentence.length; i++) {
      const place = placeOf(sentence.charCodeAt(i));
      if (place === 0) {
        if (word !== undefined) for (const cue of word.whole) open.add(cue);
        [word, letters, code] = [undefined, 0, 0];
        continue;
      }
      letters++;
      if (letters > 1 && word === undefined) continue;
      code = code * BASE + place;
      word = letters > LETTERS ? undefined : entries.get(code);
      if (word !== undefined) for (const cue of word.begins) open.add(cue);
    }
    if (word !== undefined) for (const cue of word.whole) open.add(cue);
    return open;
  };
}

function add(entries: Map<number, Entry>, { text, whole }: Beginning, cue: Cue): void {
  let [code, entry]: [number, Entry] = [0, { begins: [], whole: [] }];
  for (const letter of text.slice(0, LETTERS)) {
    code = code * BASE + placeOf(letter.charCodeAt(0));
    entry = entries.get(code) ?? { begins: [], whole: [] };
    entries.set(code, entry);
  }
  const list = whole && text.length <= LETTERS ? entry.whole : entry.begins;
  if (!list.includes(cue)) list.push(cue);
}

/** From 1 for what words are made of in a masked sentence, which is in lower case; 0: a character between words. */
function placeOf(code: number): number {
  if (code >= 97 && code <= 122) return code - 96;
  if (code >= 48 && code <= 57) return code - 21;
  return code === 95 ? 37 : 0;
}
