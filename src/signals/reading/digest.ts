import type { Sentence } from './sentences.ts';

/** The encoder reads 128 tokens: what is beyond so many characters is left out with the last sentences. */
const MAX_UNITS = 450;
const MAX_ASKING = 6;

/** What of a post the encoder reads: its title, what it asks, then the rest from the start, as far as there is room. */
export function digestOf(sentences: readonly Sentence[], asks: readonly boolean[]): Sentence[] {
  const titles = sentences.filter(({ isTitle }) => isTitle);
  const body = sentences.filter(({ isTitle }) => !isTitle);
  const asking = body.filter((sentence) => sentence.isQuestion || asks[sentences.indexOf(sentence)] === true);
  const chosen = [...titles, ...asking.slice(0, MAX_ASKING)];
  let units = chosen.reduce((total, { start, end }) => total + end - start, 0);
  for (const sentence of body) {
    if (units >= MAX_UNITS) break;
    if (chosen.includes(sentence)) continue;
    chosen.push(sentence);
    units += sentence.end - sentence.start;
  }
  return chosen;
}

/** The sentences of a digest, as the encoder is given them. */
export function digestParts(text: string, sentences: readonly Sentence[]): string[] {
  return sentences.map(({ start, end }) => text.slice(start, end).trim());
}
