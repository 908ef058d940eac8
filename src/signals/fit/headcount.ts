/** A range of people, both ends counted; null: without end. */
export interface Headcount {
  min: number;
  max: number | null;
}

const NUMBER = /(\d{1,3}(?:[,.'\s\u00a0\u202f]\d{3})+|\d+(?:\.\d+)?)\s?(k|m)?\b(\s?\+)?/giu;

/** Reads "50", "51-200", "1,000+", "over 500", "1k–5k employees", "self-employed"; null where it tells no number. */
export function readHeadcount(text: string): Headcount | null {
  const numbers = [...text.slice(0, 300).matchAll(NUMBER)].map(([, digits = '', unit = '', plus]) => ({
    value: toNumber(digits, unit.toLowerCase()),
    open: plus !== undefined,
  }));
  const [first, second] = numbers;
  if (first === undefined)
    return /\bself[- ]?employed\b|\bfreelance/iu.test(text) ? { min: 1, max: 1 } : null;
  if (first.open || /\b(?:over|more than|at least|above|from)\b|[>≥]/iu.test(text)) {
    return { min: first.value, max: null };
  }
  if (/\b(?:under|less than|fewer than|below|up to)\b|[<≤]/iu.test(text)) return { min: 1, max: first.value };
  const isRange = second !== undefined && /\d\s*[kKmM]?\s*(?:-|–|—|to|bis|\.\.)\s*\d/u.test(text);
  if (!isRange) return { min: first.value, max: first.value };
  // "1-5k": the unit of the end is that of both.
  const min = first.value > second.value ? first.value : Math.min(first.value, second.value);
  return { min: Math.min(min, second.value), max: second.open ? null : second.value };
}

function toNumber(digits: string, unit: string): number {
  const plain = /^\d+\.\d{1,2}$/.test(digits) ? digits : digits.replace(/[^\d]/gu, '');
  return Math.round(Number(plain) * (unit === 'k' ? 1_000 : unit === 'm' ? 1_000_000 : 1));
}

export function overlaps(a: Headcount, b: Headcount): boolean {
  return a.min <= (b.max ?? Number.POSITIVE_INFINITY) && b.min <= (a.max ?? Number.POSITIVE_INFINITY);
}
