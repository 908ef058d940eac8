import Sqlite, { type Database } from 'better-sqlite3';
import { explainFaults } from '../database.ts';
import { latestVersion, refuseForeign, refuseNewer, schemaVersion } from '../migrate.ts';
import { checkCounts } from './check-counts.ts';
import { checkDeliveries } from './check-deliveries.ts';
import { checkIndex } from './check-index.ts';
import { checkJson } from './check-json.ts';
import { checkOrder } from './check-order.ts';
import type { Finding } from './finding.ts';

export interface CheckReport {
  findings: Finding[];
  /** How many there are in all: of each part the first are told. */
  total: number;
}

const TOLD_OF_EACH = 10;

/**
 * Looks at everything, also while a server writes: pages and indexes, references, JSON, the full-text index, what the
 * dispatcher relies on, what is counted beside the rows themselves, and their order by commit. Reads one moment, and changes nothing. @throws StoreOpenError where it cannot be read at all
 */
export function checkEverything(file: string): CheckReport {
  return explainFaults(file, () => {
    const db = new Sqlite(file, { readonly: true, timeout: 5_000 });
    try {
      refuseForeign(db);
      refuseNewer(db);
      db.exec('BEGIN');
      return gather(allFindings(db));
    } finally {
      db.close();
    }
  });
}

function* allFindings(db: Database): Generator<Finding> {
  let damaged = false;
  for (const finding of [...checkPages(db), ...checkReferences(db)]) {
    damaged = true;
    yield finding;
  }
  // Rows of damaged pages cannot be read, and what their columns hold says nothing.
  if (damaged) return;
  const [found, known] = [schemaVersion(db), latestVersion()];
  if (found < known) {
    yield {
      part: 'schema',
      detail: `version ${found} of ${known}: run "signalpost migrate", then check again`,
    };
    return;
  }
  yield* checkJson(db);
  yield* checkIndex(db);
  yield* checkDeliveries(db);
  yield* checkCounts(db);
  yield* checkOrder(db);
}

function* checkPages(db: Database): Generator<Finding> {
  for (const { integrity_check: detail } of db.pragma('integrity_check(100)') as {
    integrity_check: string;
  }[]) {
    if (detail !== 'ok') yield { part: 'pages', detail };
  }
}

function* checkReferences(db: Database): Generator<Finding> {
  const rows = db.prepare<[], { table: string; parent: string }>('PRAGMA foreign_key_check').iterate();
  for (const { table, parent } of rows) {
    yield { part: 'references', detail: `a row of ${table} refers to a row of ${parent} that is not there` };
  }
}

function gather(all: Iterable<Finding>): CheckReport {
  const told = new Map<string, number>();
  const findings: Finding[] = [];
  let total = 0;
  for (const finding of all) {
    total++;
    const count = (told.get(finding.part) ?? 0) + 1;
    told.set(finding.part, count);
    if (count <= TOLD_OF_EACH) findings.push(finding);
  }
  return { findings, total };
}
