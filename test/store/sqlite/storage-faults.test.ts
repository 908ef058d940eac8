import { closeSync, copyFileSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { createCommitMeter } from '../../../src/store/commit-meter.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { createSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { createInlineWriter } from '../../../src/store/sqlite/writer.ts';
import type { StorageChange } from '../../../src/store/storage-watch.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { aSignal, aTenant, openTestStore } from '../../support/store.ts';
import { tempFolder } from './temp-folder.ts';

const unavailable = { code: 'UNAVAILABLE', extra: { retryAfterSeconds: 1 } };

async function openWithTenant() {
  const file = join(tempFolder(), 'signalpost.db');
  const db = openDatabase(file, { busyTimeoutMs: 1 });
  migrate(db);
  const clock = createManualClock();
  const store = createSqliteStore({
    db,
    clock,
    writer: createInlineWriter(db, { meter: createCommitMeter(clock), storage: null }),
    countsThread: null,
    searchThreads: null,
  });
  await store.createTenant(aTenant('ten_a'));
  return { file, db, store };
}

/** Allows no more pages: a full disk from SQLite's point of view. */
function fillDisk(db: Sqlite.Database): () => void {
  db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true })}`);
  return () => db.pragma('max_page_count = 4294967294');
}

test('on a full disk, a change that does not fit fails completely until there is space', async () => {
  const { db, store } = await openWithTenant();
  const makeRoom = fillDisk(db);
  const big = [
    aSignal('ten_a', { id: 'sig_1' }),
    aSignal('ten_a', { id: 'sig_2', text: 'x'.repeat(50_000) }),
  ];
  await expect(store.commitSignals(big)).rejects.toMatchObject(unavailable);
  expect(await store.getSignal('ten_a', 'sig_1')).toBeNull();
  expect(await store.getSignal('ten_a', 'sig_2')).toBeNull();
  makeRoom();
  expect((await store.commitSignals(big)).map((r) => r.status)).toEqual(['created', 'created']);
  await store.close();
});

test('on a full disk, none of many results falsely reports success', async () => {
  const { db, store } = await openWithTenant();
  fillDisk(db);
  const signals = Array.from({ length: 60 }, (_, i) =>
    aSignal('ten_a', { id: `sig_${i}`, text: 'x'.repeat(2000) }),
  );
  const results = await Promise.allSettled(signals.map((signal) => store.commitSignals([signal])));
  const stored = await Promise.all(signals.map((signal) => store.getSignal('ten_a', signal.id)));
  expect(results.map((r) => r.status === 'fulfilled')).toEqual(stored.map((signal) => signal !== null));
  expect(results.some((r) => r.status === 'rejected')).toBe(true);
  await store.close();
});

test('while another process holds the lock, writes fail and reads continue', async () => {
  const { file, store } = await openWithTenant();
  const other = new Sqlite(file);
  other.exec('BEGIN IMMEDIATE');
  await expect(store.probe()).rejects.toMatchObject(unavailable);
  expect(await store.getTenant('ten_a')).not.toBeNull();
  other.exec('ROLLBACK');
  other.close();
  await expect(store.probe()).resolves.toBeUndefined();
  await store.close();
});

test.each(['', '-wal'])('a probe notices that signalpost.db%s was deleted while in use', async (suffix) => {
  const { file, store } = await openWithTenant();
  await expect(store.probe()).resolves.toBeUndefined();
  rmSync(`${file}${suffix}`);
  await expect(store.probe()).rejects.toThrow(`${basename(file)}${suffix} was moved, replaced or deleted`);
  await store.close();
});

test('a probe notices that the database was replaced while in use', async () => {
  const { file, store } = await openWithTenant();
  copyFileSync(file, `${file}.copy`);
  renameSync(`${file}.copy`, file);
  await expect(store.probe()).rejects.toThrow('was moved, replaced or deleted');
  await store.close();
});

test('a database that becomes read-only rejects writes', async () => {
  const { db, store } = await openWithTenant();
  db.pragma('query_only = ON');
  await expect(store.createTenant(aTenant('ten_b'))).rejects.toMatchObject(unavailable);
  await store.close();
});

test('a failed commit rejects its changes', async () => {
  const { db, store } = await openWithTenant();
  // Foreign keys that are checked only at COMMIT make COMMIT itself fail.
  db.pragma('defer_foreign_keys = OFF');
  db.exec(`CREATE TABLE late (id TEXT REFERENCES tenants (id) DEFERRABLE INITIALLY DEFERRED);
           CREATE TRIGGER break_commit AFTER INSERT ON signals BEGIN INSERT INTO late VALUES ('ten_none'); END`);
  await expect(store.commitSignals([aSignal('ten_a', { id: 'sig_1' })])).rejects.toThrow(/FOREIGN KEY/);
  expect(await store.getSignal('ten_a', 'sig_1')).toBeNull();
  await store.createTenant(aTenant('ten_b'));
  await store.close();
});

/** A store on a file of which every page but the first is then overwritten, as on a failing disk. */
async function openDamaged(writerThread: boolean) {
  const file = join(tempFolder(), 'signalpost.db');
  const clock = createManualClock();
  const first = await openTestStore({ clock, file });
  await first.store.createTenant(aTenant('ten_a'));
  await first.store.close();
  const said: StorageChange[] = [];
  const store = await openSqliteStore({
    file,
    clock,
    writerThread,
    onStorageChange: (change) => said.push(change),
  });
  onTestFinished(store.close);
  await store.probe(); // the thread has opened the file
  const handle = openSync(file, 'r+');
  const zeros = new Uint8Array(8_192);
  for (let at = zeros.length; at < statSync(file).size; at += zeros.length)
    writeSync(handle, zeros, 0, zeros.length, at);
  closeSync(handle);
  return { store, said };
}

test.each([false, true])(
  'reads and changes that meet damage are unavailable, and so is the store (thread: %s)',
  async (thread) => {
    const { store, said } = await openDamaged(thread);
    const damaged = { code: 'UNAVAILABLE', extra: { storage: 'damaged', retryAfterSeconds: 300 } };
    await expect(store.getSignal('ten_a', 'sig_1')).rejects.toMatchObject(damaged);
    await expect(store.countAll(0)).rejects.toMatchObject(damaged);
    await expect(store.createTenant(aTenant('ten_b'))).rejects.toMatchObject(damaged);
    expect(said).toMatchObject([{ state: 'damaged', cause: { code: 'SQLITE_CORRUPT' } }]);
    await expect(store.probe()).rejects.toThrow(/damaged/);
  },
);
