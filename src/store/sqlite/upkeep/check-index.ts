import type { Database } from 'better-sqlite3';
import { filterTerm } from '../search-terms.ts';
import type { Finding } from './finding.ts';

/**
 * Signals that the full-text index does not know, or knows otherwise than they are: each must be found by its own terms of
 * profile and class, and the index must find nothing that is not there.
 */
export function* checkIndex(db: Database): Generator<Finding> {
  const select = db.prepare<[], { seq: number; id: string; tenant: string; profile: string; class: string }>(
    `SELECT seq, id, tenant_id AS tenant, profile_id AS profile, classification AS class
     FROM signals ORDER BY tenant_id, profile_id, classification, seq`,
  );
  const match = db.prepare<[string], number>(
    'SELECT rowid FROM signal_search WHERE signal_search MATCH ? ORDER BY rowid',
  );
  let group = '';
  let known = new Set<number>();
  for (const { seq, id, tenant, profile, class: classification } of select.iterate()) {
    const icp = filterTerm(tenant, 'icp', profile);
    const terms = `"${icp}" "${filterTerm(tenant, 'class', classification)}"`;
    if (terms !== group) {
      yield* strangers(known);
      group = terms;
      known = new Set(match.pluck().all(terms));
    }
    if (!known.delete(seq)) yield { part: 'index', detail: `signals ${id}: is not found by what it is` };
  }
  yield* strangers(known);
}

function* strangers(left: Set<number>): Generator<Finding> {
  for (const seq of left)
    yield { part: 'index', detail: `signal_search ${seq}: leads to no signal that is so` };
}
