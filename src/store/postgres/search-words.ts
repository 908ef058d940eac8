import { phrasesOf, wordsOf } from '../../rules/words.ts';

/** The highest word position in PostgreSQL: later words are found, but not as part of a phrase. */
const LAST_PLACE = 16_383;

/**
 * The words of some fields as a PostgreSQL `tsvector`, with a gap between fields, so that no phrase matches across
 * them.
 */
export function wordsVector(tenantId: string, fields: readonly string[]): string {
  const places = new Map<string, number[]>();
  let place = 0;
  for (const field of fields) {
    for (const word of wordsOf(field)) {
      const lexeme = wordOf(tenantId, word);
      place++;
      const found = places.get(lexeme);
      if (found === undefined) places.set(lexeme, [Math.min(place, LAST_PLACE)]);
      else if (place <= LAST_PLACE) found.push(place);
    }
    place++;
  }
  return Array.from(places, ([lexeme, at]) => `${lexeme}:${at.join(',')}`).join(' ');
}

/** A search as a PostgreSQL `tsquery`; null if nothing can be searched for. `begins`: the last word is a prefix. */
export function wordsQuery(tenantId: string, asked: string, begins: boolean): string | null {
  const phrases = phrasesOf(asked).map((words) => words.map((word) => wordOf(tenantId, word)));
  const last = phrases.at(-1);
  if (last === undefined) return null;
  if (begins) last.push(`${last.pop()}:*`);
  return [...new Set(phrases.map((words) => `(${words.join(' <-> ')})`))].join(' & ');
}

/** A tenant's word, quoted: words start with the tenant's ID, so that a search never reads other tenants' entries. */
function wordOf(tenantId: string, word: string): string {
  return `'${`${tenantId}~${word}`.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
