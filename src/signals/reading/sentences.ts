/** A sentence of a post, with its position in the text in UTF-16 units. */
export interface Sentence {
  start: number;
  end: number;
  /** The masked text: in lower case, with links and markup blanked, and all offsets unchanged. */
  text: string;
  isTitle: boolean;
  isQuestion: boolean;
}

/** The sentences of a post, with counts. */
export interface Outline {
  sentences: Sentence[];
  links: number;
  /** Number of words in all sentences. */
  words: number;
  /** Whether the post is a single line. */
  onlyTitle: boolean;
}

/** Requests are at the start or at the end: of a long text, only these parts are read. */
const HEAD_UNITS = 5_000;
const TAIL_UNITS = 1_000;
/** Maximum number of sentences, so that no text takes longer than an ordinary long one. */
const MAX_SENTENCES = 80;
const MAX_TITLE_UNITS = 300;

/** The parts of a long text that are split into sentences, joined. */
export function readPartsOf(text: string): string {
  if (text.length <= HEAD_UNITS + TAIL_UNITS) return text;
  return `${text.slice(0, HEAD_UNITS)}\n\n${text.slice(-TAIL_UNITS)}`;
}

/** Splits a post into sentences, in linear time. */
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

/** The first line is the title if it is short enough. */
function endOfTitle(text: string): number {
  const start = text.length - text.trimStart().length;
  const lineEnd = text.indexOf('\n', start);
  const end = lineEnd === -1 ? text.length : lineEnd;
  return end <= MAX_TITLE_UNITS ? end : 0;
}

/** Converts to lower case, and replaces links, markup and typographic quotes without changing offsets. */
function mask(text: string): string {
  const lower = text.toLowerCase();
  const same = lower.length === text.length ? lower : text.replace(/[A-Z]/g, (unit) => unit.toLowerCase());
  return same
    .replace(/https?:\/\/[^\s)\]]*|www\.[^\s)\]]*/g, (link) => ' '.repeat(link.length))
    .replace(/[\u2018\u2019\u02bc\u0060]/g, "'")
    .replace(/[*_\\~#>|\u200b\u00a0]/g, ' ');
}

/**
 * Ends of sentences: a full stop, question mark or exclamation mark before white space, or the end of a line.
 */
function spans(masked: string, titleEnd: number): [number, number][] {
  const found: [number, number][] = [];
  const tailStart = Math.max(HEAD_UNITS, masked.length - TAIL_UNITS);
  let start = 0;
  const close = (end: number) => {
    if (end > start) found.push([start, end]);
    start = end;
  };
  // Matches from the first of several marks only: otherwise each of 20,000 marks would be a starting point.
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

/**
 * The position of a sentence without surrounding white space: each sentence starts where the previous one
 * ends.
 */
export function placeOf(text: string, sentence: Sentence | undefined): { start: number; end: number } | null {
  if (sentence === undefined) return null;
  const part = text.slice(sentence.start, sentence.end);
  const start = sentence.start + part.length - part.trimStart().length;
  return { start, end: start + part.trim().length };
}

/** The encoder reads 128 tokens; sentences after this many characters are omitted. */
const MAX_UNITS = 450;
const MAX_ASKING = 6;

/**
 * The sentences that the encoder reads: the title, the sentences that ask, then the others from the start, up
 * to the limit.
 */
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

/** The sentences of a digest, as input for the encoder. */
export function digestParts(text: string, sentences: readonly Sentence[]): string[] {
  return sentences.map(({ start, end }) => text.slice(start, end).trim());
}
