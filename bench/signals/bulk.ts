import type { Database } from 'better-sqlite3';
import { createCompanyObserver } from '../../src/store/changes/companies.ts';
import type { NewSignal } from '../../src/store/signal-store.ts';
import { createSignalIndex } from '../../src/store/sqlite/signal-index.ts';
import { answeredAtOnce, runAtOnce } from '../../src/store/sqlite/sql/prepared.ts';
import { companiesSql } from '../../src/store/sqlite/sql/signals.ts';

/** Stores new signals with the rows by which they are found and deduplicated, like the server. */
export interface BulkWriter {
  /** In the order of their times, which are distinct. */
  add(signals: readonly NewSignal[]): void;
  /** Creates indexes and triggers, which are omitted until then: sorting at the end takes a fraction of the time. */
  end(): void;
}

const TABLES = ['signals', 'signal_people', 'signal_near_keys'];

export function createBulkWriter(db: Database): BulkWriter {
  const leftOut = db
    .prepare<string[], { type: string; name: string; sql: string }>(
      `SELECT type, name, sql FROM sqlite_master
       WHERE type IN ('index', 'trigger') AND sql IS NOT NULL AND tbl_name IN (${TABLES.map(() => '?')})`,
    )
    .all(...TABLES);
  for (const { type, name } of leftOut) db.exec(`DROP ${type} ${name}`);
  // The order of signals: by time and score, as in the server's own statement.
  const insert = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO signals
       (seq, id, tenant_id, profile_id, platform, signal_type, classification, score, timestamp, company_domain,
        external_id, canonical_url, wire, explanation, text)
     VALUES
       ((:timestamp << 21) + CAST(:score AS INTEGER),
        :id, :tenantId, :profileId, :platform, :signalType, :classification, :score, :timestamp, :companyDomain,
        :externalId, :canonicalUrl, :wire, :explanation, :text)`,
  );
  const insertKey = db.prepare<[number, number, number]>(
    `INSERT OR IGNORE INTO signal_near_keys (key, seq)
     VALUES (CAST(? AS INTEGER), (CAST(? AS INTEGER) << 21) + CAST(? AS INTEGER))`,
  );
  const insertPerson = db.prepare<[string, string, string]>(
    'INSERT INTO signal_people (tenant_id, key, signal_id) VALUES (?, ?, ?)',
  );
  const index = createSignalIndex(db);
  const observeCompany = runAtOnce(createCompanyObserver(answeredAtOnce({ companies: companiesSql(db) })));

  function addOne(signal: NewSignal): void {
    const { events: _events, personKeys, nearKeys, company, ...columns } = signal;
    insert.run(columns);
    index.addInserted(signal);
    for (const key of nearKeys) insertKey.run(key, signal.timestamp, signal.score);
    for (const key of personKeys) insertPerson.run(signal.tenantId, key, signal.id);
    if (company !== null) observeCompany(signal, company);
  }

  return {
    add: db.transaction((signals: readonly NewSignal[]) => signals.forEach(addOne)),
    end() {
      for (const { sql } of leftOut) db.exec(sql);
      // The rows that triggers would have written.
      db.exec(
        `INSERT INTO signal_positions (seq, tenant_id, position)
           SELECT seq, tenant_id, row_number() OVER (PARTITION BY tenant_id ORDER BY seq) FROM signals;
         UPDATE stored_rows SET
           signals = (SELECT count(*) FROM signals s WHERE s.tenant_id = stored_rows.tenant_id),
           position = ifnull((SELECT max(position) FROM signal_positions p WHERE p.tenant_id = stored_rows.tenant_id), 0)`,
      );
    },
  };
}
