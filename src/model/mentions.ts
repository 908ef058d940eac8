/** Stands for each character of what was taken out: lengths, and so the offsets of evidence, stay what they were. */
const MASK = '█';

/**
 * Finds addresses, profiles (`linkedin.com/in/…`) and ids where they are whole: `jane@acme.com` is not in
 * `mary-jane@acme.com`, nor in `jane@acme.com.au`. Null for no texts.
 */
export function mentionPattern(texts: readonly string[]): RegExp | null {
  if (texts.length === 0) return null;
  return new RegExp(texts.map(alternativeOf).join('|'), 'giu');
}

function alternativeOf(text: string): string {
  const escaped = text.replace(/[\\^$.*+?()[\]{}|/]/gu, '\\$&');
  return text.includes('@')
    ? `(?<![\\p{L}\\p{N}._%+-])${escaped}(?![\\p{L}\\p{N}_-]|\\.[\\p{L}\\p{N}])`
    : `(?<![\\p{L}\\p{N}_-])${escaped}(?![\\p{L}\\p{N}_%-])`;
}

/** The text with every mention blacked out, as long as before in code points. */
export function maskMentions(text: string, pattern: RegExp): string {
  return text.replace(pattern, (mention) => MASK.repeat(Array.from(mention).length));
}

/** As {@link maskMentions}, in every string of a JSON text: its escapes would hide where a word begins. */
export function maskJson(json: string, pattern: RegExp): string {
  const masked: unknown = JSON.parse(json, (_, value: unknown) =>
    typeof value === 'string' ? maskMentions(value, pattern) : value,
  );
  return JSON.stringify(masked);
}

/** Whether a string of a JSON text mentions any of them. */
export function mentionsInJson(json: string, pattern: RegExp): boolean {
  return maskJson(json, pattern) !== JSON.stringify(JSON.parse(json));
}
