import Sqlite, { type Database } from 'better-sqlite3';
import { z } from 'zod';
import { DELIVERY_STATUSES } from '../../../model/delivery.ts';
import { scopeSchema } from '../../../model/key.ts';
import { leadSchema } from '../../../model/lead.ts';
import { explanationSchema, signalSchema } from '../../../model/signal.ts';
import { webhookInputSchema } from '../../../model/webhook.ts';
import { explainFaults } from '../database.ts';
import { latestVersion, refuseForeign, refuseNewer, schemaVersion } from '../migrate.ts';
import { filterTerm } from '../signal-index.ts';

/** A problem, described for operators; it contains no text of a tenant. */
export interface Finding {
  part: 'pages' | 'references' | 'schema' | 'json' | 'index' | 'counts' | 'order' | 'deliveries';
  detail: string;
}

const COUNTED = {
  signals: 'SELECT tenant_id, count(*) AS n FROM signals GROUP BY tenant_id',
  leads: 'SELECT tenant_id, count(*) AS n FROM leads GROUP BY tenant_id',
  campaign_events: `SELECT c.tenant_id, count(*) AS n FROM campaign_events e JOIN campaigns c ON c.id = e.campaign_id
    GROUP BY c.tenant_id`,
};

/** Row counts per tenant are maintained by triggers: plan limits are checked against them. */
function* checkCounts(db: Database): Generator<Finding> {
  for (const [column, sql] of Object.entries(COUNTED)) {
    const wrong = db.prepare<[], { id: string; kept: number | null; n: number }>(
      `SELECT t.id, s.${column} AS kept, ifnull(f.n, 0) AS n FROM tenants t
       LEFT JOIN stored_rows s ON s.tenant_id = t.id LEFT JOIN (${sql}) f ON f.tenant_id = t.id
       WHERE s.${column} IS NOT ifnull(f.n, 0)`,
    );
    for (const { id, kept, n } of wrong.iterate())
      yield {
        part: 'counts',
        detail: `stored_rows ${id}: counts ${kept ?? 'no'} ${column}, and there are ${n}`,
      };
  }
}

const WAITS = "status IN ('pending', 'retrying')";

/** What the dispatcher relies on; each query finds rows that violate it. */
const RULES: [sql: string, what: string][] = [
  [
    `SELECT id FROM deliveries WHERE ${WAITS} AND next_attempt_at IS NULL`,
    'is waiting without a planned time: it would never be sent',
  ],
  [
    `SELECT id FROM deliveries WHERE NOT ${WAITS} AND next_attempt_at IS NOT NULL`,
    'has ended, but has a planned attempt',
  ],
  [`SELECT id FROM deliveries WHERE status = 'dead' AND expires_at IS NULL`, 'is dead, but never expires'],
  [
    `SELECT d.id FROM deliveries d WHERE d.${WAITS}
     AND NOT EXISTS (SELECT 1 FROM delivery_bodies b WHERE b.id = d.body_id)`,
    'is waiting, but has no body',
  ],
  [
    `SELECT id FROM deliveries WHERE attempt_count < cycle_start`,
    'has fewer attempts than at the start of its cycle',
  ],
  [
    `SELECT id FROM deliveries WHERE status NOT IN (${DELIVERY_STATUSES.map((name) => `'${name}'`).join(', ')})`,
    'has an unknown status',
  ],
  [
    `SELECT a.id FROM attempts a JOIN deliveries d ON d.id = a.delivery_id WHERE a.attempt > d.attempt_count`,
    'is an attempt with a number above the count of its delivery',
  ],
  [
    `SELECT id FROM webhook_endpoints WHERE deleted_at IS NULL AND (status = 'paused') <> (paused_reason IS NOT NULL)`,
    'is paused without a reason, or has one and is not paused',
  ],
];

function* checkDeliveries(db: Database): Generator<Finding> {
  for (const [sql, what] of RULES) {
    for (const id of db.prepare<[], string>(sql).pluck().iterate()) {
      yield { part: 'deliveries', detail: `${id}: ${what}` };
    }
  }
}

/**
 * Signals that are missing from the full-text index, or indexed differently from their row: each must be found by its
 * terms of profile and class. Their numbers are compared as text, because they exceed what a JavaScript number
 * represents exactly.
 */
function* checkIndex(db: Database): Generator<Finding> {
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
    if (!known.delete(place))
      yield { part: 'index', detail: `signals ${id}: is not found by its profile and class` };
  }
  yield* strangers(known);
}

function* strangers(left: Set<string>): Generator<Finding> {
  for (const place of left)
    yield {
      part: 'index',
      detail: `signal_search ${place}: refers to no signal with this profile and class`,
    };
}

const anObject = z.record(z.string(), z.unknown());
const strings = z.array(z.string());

/** The schema of every column with JSON, by table. Null passes if the column allows it. */
const COLUMNS: Record<string, Record<string, z.ZodType>> = {
  api_keys: { scopes: z.array(scopeSchema) },
  icp_profiles: { settings: anObject },
  signals: { wire: signalSchema, explanation: explanationSchema },
  leads: { wire: leadSchema },
  companies: { facts: anObject },
  campaigns: { settings: anObject },
  webhook_endpoints: { settings: webhookInputSchema },
  events: { data: anObject },
  event_skips: { endpoint_ids: strings },
  lane_leases: { held: z.record(z.string(), z.number()) },
  attempts: { detail: anObject },
  mail_outbox: { facts: anObject },
  sources: {
    settings: anObject,
    profile_ids: strings,
    position: anObject,
    last_error: anObject,
    secrets: anObject,
    quota: anObject,
  },
  source_runs: { error: anObject },
};

/** Rows whose JSON is invalid, or does not match what this release writes. */
function* checkJson(db: Database): Generator<Finding> {
  for (const [table, columns] of Object.entries(COLUMNS)) {
    const names = Object.keys(columns);
    const key = db.pragma(`table_info(${table})`) as { name: string; pk: number }[];
    const id = key.find(({ pk }) => pk === 1)?.name ?? 'rowid';
    // One query per table: reading several columns of a wide row costs one read of the row.
    const rows = db.prepare<[], Record<string, string | null>>(
      `SELECT ${id} AS "key", ${names.join(', ')} FROM ${table}`,
    );
    for (const row of rows.iterate()) {
      for (const name of names) {
        const fault = faultOf(row[name] ?? null, columns[name] as z.ZodType);
        if (fault !== null) yield { part: 'json', detail: `${table} ${row.key}: ${name} ${fault}` };
      }
    }
  }
}

/** Never includes the text itself, which may be personal data. */
function faultOf(text: string | null, schema: z.ZodType): string | null {
  if (text === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'is no JSON';
  }
  const result = schema.safeParse(value);
  if (result.success) return null;
  const [issue] = result.error.issues;
  return `is invalid at "${issue?.path.join('.')}" (${issue?.code})`;
}

/** The cross join keeps the order: from the other side, SQLite reads all positions of the tenant for each event. */
const WITHOUT_A_PLACE = {
  signals:
    'SELECT id FROM signals s WHERE NOT EXISTS (SELECT 1 FROM signal_positions p WHERE p.seq = s.seq AND p.tenant_id = s.tenant_id)',
  events:
    'SELECT id FROM events EXCEPT SELECT e.id FROM event_positions p CROSS JOIN events e ON e.id = p.event_id AND e.tenant_id = p.tenant_id',
};

/**
 * Rows without a position in commit order are never returned to a polling client; neither are rows numbered by an
 * outdated counter.
 */
function* checkOrder(db: Database): Generator<Finding> {
  for (const [table, sql] of Object.entries(WITHOUT_A_PLACE)) {
    for (const { id } of db.prepare<[], { id: string }>(sql).iterate())
      yield { part: 'order', detail: `${table} ${id}: has no place in the order by commit` };
  }
  const lagging = db.prepare<[], { tenant_id: string }>(
    `SELECT tenant_id FROM stored_rows r
     WHERE position < (SELECT max(position) FROM signal_positions p WHERE p.tenant_id = r.tenant_id)
       OR position < (SELECT max(position) FROM event_positions p WHERE p.tenant_id = r.tenant_id)`,
  );
  for (const { tenant_id } of lagging.iterate())
    yield { part: 'order', detail: `stored_rows ${tenant_id}: its position is below one already assigned` };
}

export interface CheckReport {
  findings: Finding[];
  /** The total number; only the first ones of each part are reported. */
  total: number;
}

const TOLD_OF_EACH = 10;

/**
 * Checks everything, even while a server writes: pages and indexes, references, JSON, the full-text index, the
 * invariants of the dispatcher, row counts, and commit order. Reads a consistent snapshot, and changes nothing.
 * @throws StoreOpenError if the file cannot be read at all
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
  // Rows on damaged pages cannot be read, and the content of their columns means nothing.
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
    yield {
      part: 'references',
      detail: `a row of ${table} refers to a row of ${parent} that does not exist`,
    };
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
