import { phrasesOf, wordsOf } from '../../rules/words.ts';

/** PostgreSQL keeps no place behind this one: what stands there is found by its words, and not as a part of a phrase. */
const LAST_PLACE = 16_383;

/** The words of some fields as PostgreSQL reads a `tsvector`, with a gap between fields, so that no phrase reaches across. */
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

/** What a person asks for as PostgreSQL reads a `tsquery`; null where none of it can be looked for. `begins`: the last word may go on. */
export function wordsQuery(tenantId: string, asked: string, begins: boolean): string | null {
  const phrases = phrasesOf(asked).map((words) => words.map((word) => wordOf(tenantId, word)));
  const last = phrases.at(-1);
  if (last === undefined) return null;
  if (begins) last.push(`${last.pop()}:*`);
  return [...new Set(phrases.map((words) => `(${words.join(' <-> ')})`))].join(' & ');
}

/** A tenant's word, quoted: words begin with the tenant's id, so that a search reads nothing of other tenants. */
function wordOf(tenantId: string, word: string): string {
  return `'${`${tenantId}~${word}`.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
