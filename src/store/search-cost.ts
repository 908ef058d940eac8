/** Characters per word in usual texts: indexing takes as long as there are words. */
const CHARACTERS_A_WORD = 4;
/** Scripts without spaces, in which each character is a word; from the first one on, up to Hangul, and outside the first plane. */
const [FIRST_UNSPACED, FIRST_HANGUL, FIRST_SURROGATE, LAST_SURROGATE] = [0xe00, 0xac00, 0xd800, 0xdfff];

/** The length of a usual text that takes as long to index. */
export function indexedLength(text: string): number {
  let words = 0;
  let isInWord = false;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    const isWord =
      (unit >= FIRST_UNSPACED && unit < FIRST_HANGUL) || (unit >= FIRST_SURROGATE && unit <= LAST_SURROGATE);
    const isLetter = unit >= 0x80 || isAsciiLetter(unit);
    if (isWord || (isLetter && !isInWord)) words++;
    isInWord = isLetter && !isWord;
  }
  return Math.max(text.length, words * CHARACTERS_A_WORD);
}

function isAsciiLetter(unit: number): boolean {
  const lower = unit | 0x20;
  return (unit >= 0x30 && unit <= 0x39) || (lower >= 0x61 && lower <= 0x7a);
}

/** The same for all that a signal is found by: its text and facts. Facts alone may have two thousand words. */
export function searchedLength({ text, facts }: { text: string; facts: readonly string[] }): number {
  return facts.reduce((sum, fact) => sum + indexedLength(fact), indexedLength(text));
}

/** About the size of a signal as JSON without facts: its IDs, names of members and excerpt. */
export const WIRE_WITHOUT_FACTS = 600;

/**
 * The most of {@link searchedLength} that leaves the search in the commit that changes a signal. Removing a word takes up to 45 us, many times as
 * long as adding one, as nothing of it may remain. More leaves in several commits before (`SignalStore.leaveSearch`).
 */
export const MAX_REMOVED_AT_ONCE = 2_000;
