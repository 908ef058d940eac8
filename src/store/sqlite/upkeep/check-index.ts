import type { Database } from 'better-sqlite3';
import { filterTerm } from '../search-terms.ts';
import type { Finding } from './finding.ts';

/**
 * Signals that the full-text index does not know, or knows otherwise than they are: each must be found by its own terms of
 * profile and class. Their numbers are told apart as text, as they are beyond what a JavaScript number holds.
 */
export function* checkIndex(db: Database): Generator<Finding> {
  const select = db.prepare<
    [],
    { place: string; id: string; tenant: string; profile: string; class: string }
  >(
    `SELECT CAST(seq AS TEXT) AS place, id, tenant_id AS tenant, profile_id AS profile, classification AS class
     FROM signals ORDER BY tenant_id, profile_id, classification, seq`,
  );
  const match = db.prepare<[string], string>(
    'SELECT CAST(rowid AS TEXT) FROM signal_search WHERE signal_search MATCH ? ORDER BY rowid',
  );
  let group = '';
  let known = new Set<string>();
  for (const { place, id, tenant, profile, class: classification } of select.iterate()) {
    const icp = filterTerm(tenant, 'icp', profile);
    const terms = `"${icp}" "${filterTerm(tenant, 'class', classification)}"`;
    if (terms !== group) {
      yield* strangers(known);
      group = terms;
      known = new Set(match.pluck().all(terms));
    }
    if (!known.delete(place)) yield { part: 'index', detail: `signals ${id}: is not found by what it is` };
  }
  yield* strangers(known);
}

function* strangers(left: Set<string>): Generator<Finding> {
  for (const place of left)
    yield { part: 'index', detail: `signal_search ${place}: leads to no signal that is so` };
}
