/** A sentence of a post: its place in the text, in UTF-16 units, and what it is. */
export interface Sentence {
  start: number;
  end: number;
  /** Masked text of the sentence: lower case, links and mark-up blanked, every unit in its place. */
  text: string;
  isTitle: boolean;
  isQuestion: boolean;
}

/** A post as the cues read it. */
export interface Outline {
  sentences: Sentence[];
  links: number;
  /** Words in all that was read. */
  words: number;
  /** Whether there is nothing but one line. */
  onlyTitle: boolean;
}

/** Who asks says so early or at the end: what is read of a long text is its start and its last part. */
const HEAD_UNITS = 5_000;
const TAIL_UNITS = 1_000;
/** Sentences at most, so that the worst text costs what a long one does. */
const MAX_SENTENCES = 80;
const MAX_TITLE_UNITS = 300;

/** Of a long text the parts in which sentences are looked for, as one text. */
export function readPartsOf(text: string): string {
  if (text.length <= HEAD_UNITS + TAIL_UNITS) return text;
  return `${text.slice(0, HEAD_UNITS)}\n\n${text.slice(-TAIL_UNITS)}`;
}

/** Cuts a post into sentences. Linear in the text. */
export function cutSentences(text: string): Outline {
  const masked = mask(text);
  const titleEnd = endOfTitle(text);
  const sentences: Sentence[] = [];
  for (const [start, end] of spans(masked, titleEnd)) {
    const part = masked.slice(start, end);
    if (!/[\p{L}\p{N}]/u.test(part)) continue;
    const isTitle = end <= titleEnd;
    sentences.push({ start, end, text: part, isTitle, isQuestion: /\?\W*$/.test(part) });
    if (sentences.length === MAX_SENTENCES) break;
  }
  const words = sentences.reduce((sum, sentence) => sum + sentence.text.split(/\s+/).length, 0);
  const links = text.slice(0, HEAD_UNITS).match(/https?:\/\//gi)?.length ?? 0;
  return { sentences, links, words, onlyTitle: titleEnd >= text.trimEnd().length };
}

/** The first line is the title where it is short enough to be one. */
function endOfTitle(text: string): number {
  const start = text.length - text.trimStart().length;
  const lineEnd = text.indexOf('\n', start);
  const end = lineEnd === -1 ? text.length : lineEnd;
  return end <= MAX_TITLE_UNITS ? end : 0;
}

/** Lower case with links, mark-up and typographic quotes replaced, unit by unit, so that places stay the same. */
function mask(text: string): string {
  const lower = text.toLowerCase();
  const same = lower.length === text.length ? lower : text.replace(/[A-Z]/g, (unit) => unit.toLowerCase());
  return same
    .replace(/https?:\/\/[^\s)\]]*|www\.[^\s)\]]*/g, (link) => ' '.repeat(link.length))
    .replace(/[\u2018\u2019\u02bc\u0060]/g, "'")
    .replace(/[*_\\~#>|\u200b\u00a0]/g, ' ');
}

/** Ends of sentences: a full stop, question or exclamation mark before white space, or a line's end. */
function spans(masked: string, titleEnd: number): [number, number][] {
  const found: [number, number][] = [];
  const tailStart = Math.max(HEAD_UNITS, masked.length - TAIL_UNITS);
  let start = 0;
  const close = (end: number) => {
    if (end > start) found.push([start, end]);
    start = end;
  };
  // From the first mark of several only: 20,000 of them would be tried from each.
  const ends = /(?<![.!?])[.!?]+(?=["')\]]*\s)["')\]]*|\n+/g;
  for (const stop of masked.matchAll(ends)) {
    const end = stop.index + stop[0].length;
    if (end < titleEnd && stop[0].startsWith('.')) continue;
    if (end > HEAD_UNITS && start < tailStart) {
      close(Math.min(end, HEAD_UNITS));
      start = Math.max(start, Math.min(end, tailStart));
      continue;
    }
    close(end);
  }
  close(Math.min(masked.length, start + HEAD_UNITS));
  return found;
}

/** Where a sentence stands, without the blanks around it: sentences are cut where the one before them ends. */
export function placeOf(text: string, sentence: Sentence | undefined): { start: number; end: number } | null {
  if (sentence === undefined) return null;
  const part = text.slice(sentence.start, sentence.end);
  const start = sentence.start + part.length - part.trimStart().length;
  return { start, end: start + part.trim().length };
}

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
