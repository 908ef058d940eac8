import { statSync } from 'node:fs';
import type { Database } from 'better-sqlite3';

/**
 * A check reads the whole file: 1.7 s a GB where it is in the page cache, as long as the disk takes where it is not.
 * Beyond this size the start checks the small tables without which nothing works. Pages damaged elsewhere make SQLite
 * refuse the statement that meets them, and `signalpost check` reads everything.
 */
const WHOLE_CHECK_MAX_BYTES = 256 * 1024 * 1024;
const VITAL_TABLES = ['tenants', 'owners', 'api_keys', 'icp_profiles', 'webhook_endpoints'];

/** Everything that is wrong with the database, in SQLite's words; empty where it is sound. */
export function findDamage(db: Database): string[] {
  return [...quickCheck(db), ...foreignKeyCheck(db)];
}

/** As {@link findDamage}, limited to the vital tables where the file is large. */
export function findDamageAtStart(db: Database, wholeMaxBytes = WHOLE_CHECK_MAX_BYTES): string[] {
  if (db.memory || statSync(db.name).size <= wholeMaxBytes) return findDamage(db);
  return VITAL_TABLES.flatMap((table) => [...quickCheck(db, table), ...foreignKeyCheck(db, table)]);
}

function quickCheck(db: Database, table?: string): string[] {
  const rows = db.pragma(table === undefined ? 'quick_check(10)' : `quick_check(${table})`) as {
    quick_check: string;
  }[];
  return rows.map((row) => row.quick_check).filter((finding) => finding !== 'ok');
}

function foreignKeyCheck(db: Database, table?: string): string[] {
  const sql = table === undefined ? 'PRAGMA foreign_key_check' : `PRAGMA foreign_key_check(${table})`;
  const findings: string[] = [];
  for (const row of db.prepare<[], { table: string; parent: string }>(sql).iterate()) {
    findings.push(`a row of ${row.table} refers to a row of ${row.parent} that is not there`);
    if (findings.length === 10) break;
  }
  return findings;
}
