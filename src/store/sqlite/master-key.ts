import { existsSync, statSync } from 'node:fs';
import Sqlite, { type Database } from 'better-sqlite3';
import type { KeyProof } from '../../lib/secret-box.ts';
import { StoreOpenError } from '../errors.ts';
import { explainFaults } from './database.ts';

/**
 * Checks whether the database belongs to this key, before anything else is opened: the file is only read, and stays
 * unchanged. `proof` is null if there is no key yet: a database with secrets must not get a new one.
 * @throws StoreOpenError `other_key`
 */
export function refuseOtherKey(file: string, proof: KeyProof | null): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined || found.size === 0) return;
  explainFaults(file, () => {
    // Neither mode leaves a trace: if a killed process left a log, only a read-only connection does not checkpoint
    // it; without a log, only a writable connection removes the empty log that it creates.
    const db = new Sqlite(file, { readonly: existsSync(`${file}-wal`) });
    try {
      if (!fits(db, proof)) throw proof === null ? noKey(file) : otherKey(file, proof);
    } finally {
      db.close();
    }
  });
}

/**
 * Stores the proof of the key; if two processes start for the first time with different keys, the later one is
 * refused. If the database has the proof of an older key of this ring, it is replaced by that of the newest.
 */
export function admitKey(db: Database, proof: KeyProof): void {
  db.prepare<[string]>('INSERT OR IGNORE INTO master_key (id, proof) VALUES (1, ?)').run(proof.check);
  const known = knownCheck(db);
  if (known === proof.check) return;
  if (known === undefined || !proof.olderChecks.includes(known)) throw otherKey(db.name, proof);
  db.prepare<[string]>('UPDATE master_key SET proof = ? WHERE id = 1').run(proof.check);
}

function fits(db: Database, proof: KeyProof | null): boolean {
  if (hasTable(db, 'master_key')) {
    const known = knownCheck(db);
    if (known !== undefined) return proof?.check === known || proof?.olderChecks.includes(known) === true;
  }
  // A database from before proofs were stored: the secrets show whether the key matches. One of them suffices,
  // because all share a key.
  if (!hasTable(db, 'webhook_endpoints')) return true;
  const sealed = db.prepare<[], { id: string; secret_box: Buffer }>(
    'SELECT id, secret_box FROM webhook_endpoints',
  );
  let some = false;
  for (const { id, secret_box } of sealed.iterate()) {
    if (proof?.opens(secret_box, id)) return true;
    some = true;
  }
  return !some;
}

function knownCheck(db: Database): string | undefined {
  return db.prepare<[], string>('SELECT proof FROM master_key WHERE id = 1').pluck().get();
}

function hasTable(db: Database, name: string): boolean {
  const sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?";
  return db.prepare<[string]>(sql).get(name) !== undefined;
}

function otherKey(file: string, { source }: KeyProof): StoreOpenError {
  return new StoreOpenError(
    'other_key',
    `${file} belongs to another master key than the one in ${source}: its secrets cannot be read with this one. ` +
      'Nothing was opened or changed. Put back the key that belongs to it, as secrets.key beside it or in SECRETS_KEY ' +
      '(it was to be kept with the backups), or set DATA_DIR to the folder that this key belongs to.',
  );
}

function noKey(file: string): StoreOpenError {
  return new StoreOpenError(
    'other_key',
    `${file} holds secrets, and the master key that they were encrypted with is missing. Nothing was opened or changed. ` +
      'Put back the secrets.key that belongs to it, or set SECRETS_KEY to it (it was to be kept with the backups).',
  );
}
