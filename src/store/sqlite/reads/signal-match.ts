import type { SignalQuery } from '../../../model/signal.ts';
import { begunPhrases, type FilterName, filterTerm, searchPhrases } from '../search-terms.ts';

/** What the index of terms is asked: an FTS5 expression, null for all of the tenant's signals, or nothing can fit. */
export type Match = string | null | 'nothing';

/**
 * The expression of a query's filters and words. Nothing of what a caller wrote is syntax in it: every term is quoted,
 * and holds no quotation mark. `profileIds` are what the query's `icps` came to; null: it named none.
 */
export function matchOf(
  tenantId: string,
  profileIds: string[] | null,
  query: SignalQuery,
  termsFrom: (beginning: string) => readonly string[],
): Match {
  const words =
    query.q === null ? [] : wordsAsked(tenantId, query.q, query.qBegins === true ? termsFrom : null);
  if (profileIds?.length === 0 || words === null) return 'nothing';
  const anyOf = (name: FilterName, values: readonly (string | number)[]) =>
    values.length === 0 ? [] : [anyTerm(values.map((value) => filterTerm(tenantId, name, value)))];
  const parts = [
    ...anyOf('platform', query.platforms),
    ...anyOf('icp', profileIds ?? []),
    ...anyOf('type', query.signalTypes),
    ...anyOf('class', query.classifications),
    ...anyOf('domain', query.companyDomains),
    ...anyOf('decade', decadesFrom(query)),
    ...words,
  ];
  return parts.length === 0 ? null : parts.join(' AND ');
}

/** Null where none of it can be found. */
function wordsAsked(
  tenantId: string,
  q: string,
  termsFrom: ((beginning: string) => readonly string[]) | null,
): string[] | null {
  if (termsFrom === null) {
    const phrases = searchPhrases(tenantId, q);
    return phrases.length === 0 ? null : phrases.map((phrase) => `"${phrase}"`);
  }
  const { whole, begun } = begunPhrases(tenantId, q, termsFrom);
  return begun.length === 0 ? null : [...whole.map((phrase) => `"${phrase}"`), anyTerm(begun)];
}

function anyTerm(terms: readonly string[]): string {
  const quoted = [...new Set(terms)].map((term) => `"${term}"`);
  return quoted.length === 1 ? String(quoted[0]) : `(${quoted.join(' OR ')})`;
}

/** A walk in order of time skips to the decades of a least score; one in order of score just ends there. */
function decadesFrom({ minScore, sort }: SignalQuery): number[] {
  if (minScore === null || minScore < 10 || sort === '-icp_score') return [];
  const lowest = Math.floor(minScore / 10);
  return Array.from({ length: 11 - lowest }, (_, i) => lowest + i);
}
