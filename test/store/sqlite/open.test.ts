import { existsSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createKeyProof } from '../../../src/lib/secret-box.ts';
import { StoreOpenError, type StoreOpenFault } from '../../../src/store/errors.ts';
import { findDamage, findDamageAtStart, openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrateSqlite, openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { checkEverything } from '../../../src/store/sqlite/upkeep/check.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { anEndpoint, aTenant, openTestStore } from '../../support/store.ts';
import { tempFolder } from './temp-folder.ts';

const open = (file: string) => openSqliteStore({ file, clock: createManualClock(), busyTimeoutMs: 1 });

async function expectRefusal(file: string, fault: StoreOpenFault, message: RegExp): Promise<void> {
  const error = await open(file).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(StoreOpenError);
  expect(error).toMatchObject({ fault, message: expect.stringMatching(message) });
}

/** A valid database with one tenant. */
async function aStoreFile(): Promise<string> {
  const file = join(tempFolder(), 'signalpost.db');
  const { store } = await openTestStore({ clock: createManualClock(), file });
  await store.createTenant(aTenant('ten_a'));
  await store.close();
  return file;
}

describe('opening', () => {
  test('creates a missing folder', async () => {
    const file = join(tempFolder(), 'a', 'b', 'signalpost.db');
    await (await open(file)).close();
    expect(existsSync(file)).toBe(true);
  });

  test('still has stored data after reopening', async () => {
    const file = await aStoreFile();
    const store = await open(file);
    expect(await store.getTenant('ten_a')).toEqual(aTenant('ten_a').tenant);
    await store.close();
  });

  test('commits reach the disk before they count', () => {
    const db = openDatabase(join(tempFolder(), 'signalpost.db'));
    const setting = (name: string) => db.pragma(name, { simple: true });
    expect(setting('synchronous')).toBe(2); // FULL
    expect(setting('journal_mode')).toBe('wal');
    expect(setting('foreign_keys')).toBe(1);
    expect(setting('page_size')).toBe(8192);
    db.close();
  });

  test('closing twice is harmless', async () => {
    const store = await open(await aStoreFile());
    await store.close();
    await store.close();
    await expect(store.createEndpoint(anEndpoint('ten_a'), null)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
  });
});

describe('refusing to open', () => {
  test('names a folder that cannot be created, with a solution', async () => {
    const blocker = join(tempFolder(), 'a-file');
    writeFileSync(blocker, '');
    await expectRefusal(join(blocker, 'data', 'signalpost.db'), 'folder_not_writable', /a-file.*DATA_DIR/s);
  });

  test('leaves a file that is not a database unchanged', async () => {
    const file = join(tempFolder(), 'signalpost.db');
    writeFileSync(file, 'Dear diary, '.repeat(1000));
    await expectRefusal(file, 'not_a_database', /not a SQLite database.*Move it away/s);
  });

  test('creates no tables in a database of another application', async () => {
    const file = join(tempFolder(), 'signalpost.db');
    const other = new Sqlite(file);
    other.exec('CREATE TABLE photos (id INTEGER)');
    other.close();
    await expectRefusal(file, 'foreign_database', /another program/);
  });

  test('rejects a schema of a newer release', async () => {
    const file = await aStoreFile();
    const db = new Sqlite(file);
    db.pragma('user_version = 999');
    db.close();
    await expectRefusal(file, 'newer_schema', /version 999.*newer release/s);
  });

  test('a dangling reference counts as damage', async () => {
    const file = await aStoreFile();
    const db = new Sqlite(file);
    db.pragma('foreign_keys = OFF');
    db.exec("DELETE FROM tenants WHERE id = 'ten_a'");
    db.close();
    await expectRefusal(file, 'damaged', /a row of \w+ refers to a row of tenants.*Restore a backup/s);
    const detail = expect.stringContaining('refers to a row of tenants');
    expect(checkEverything(file).findings).toContainEqual({ part: 'references', detail });
  });

  test('finds a damaged page', async () => {
    const file = await aStoreFile();
    const db = new Sqlite(file);
    db.unsafeMode();
    db.pragma('writable_schema = ON');
    // Two tables share one page, as after a misdirected write.
    db.exec(
      "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'events') WHERE name = 'signals'",
    );
    db.close();
    await expectRefusal(file, 'damaged', /damaged.*Restore a backup/s);
  });

  /** A file whose last page holds nothing: no check of its pages reads it. */
  async function aFileWithAFreePage(): Promise<string> {
    const file = await aStoreFile();
    const db = new Sqlite(file);
    db.exec(
      'CREATE TABLE spare (x BLOB) STRICT; INSERT INTO spare VALUES (zeroblob(50000)); DROP TABLE spare',
    );
    db.close();
    return file;
  }

  test('finds that the end of the file is missing, also in a large one and before a migration', async () => {
    const file = await aFileWithAFreePage();
    truncateSync(file, statSync(file).size - 1_000);
    await expectRefusal(file, 'damaged', /its last 1000 bytes are missing.*signalpost restore/s);
    const db = openDatabase(file);
    expect(findDamageAtStart(db, 0)).toEqual(['its last 1000 bytes are missing']);
    db.close();
    const keyProof = createKeyProof(Buffer.alloc(32), 'a test', []);
    await expect(migrateSqlite(file, keyProof)).rejects.toMatchObject({ fault: 'damaged' });
  });

  test('pages that are still in the write-ahead log only are not missing', async () => {
    const file = await aStoreFile();
    const writing = openDatabase(file);
    writing.exec('CREATE TABLE spare (x BLOB) STRICT; INSERT INTO spare VALUES (zeroblob(50000))');
    const db = openDatabase(file);
    const needed = Number(db.pragma('page_count', { simple: true })) * 8_192;
    expect(statSync(file).size).toBeLessThan(needed);
    expect(findDamageAtStart(db)).toEqual([]);
    db.close();
    writing.close();
  });

  test('reports a file locked by another process', async () => {
    const file = await aStoreFile();
    const other = new Sqlite(file);
    other.pragma('locking_mode = EXCLUSIVE');
    other.exec('BEGIN EXCLUSIVE');
    await expectRefusal(file, 'locked', /locked by another process.*Stop/s);
    other.close();
  });

  test('a sound file has no findings', async () => {
    expect(checkEverything(await aStoreFile())).toEqual({ findings: [], total: 0 });
  });

  test('looks up each position in commit order by its event, not all positions for each event', async () => {
    const file = await aStoreFile();
    const prepare = vi.spyOn(Sqlite.prototype, 'prepare');
    onTestFinished(() => prepare.mockRestore());
    checkEverything(file);
    const sql = prepare.mock.calls.map(([text]) => text).find((text) => text.includes('event_positions p'));
    const db = new Sqlite(file);
    const plan = db.prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all();
    db.close();
    expect(plan.map(({ detail }) => detail)).toContain(
      'SEARCH e USING INDEX sqlite_autoindex_events_1 (id=?)',
    );
  });

  test('reads only the essential tables of a large file', async () => {
    const file = await aStoreFile();
    const db = openDatabase(file);
    db.pragma('foreign_keys = OFF');
    db.exec("INSERT INTO event_skips VALUES ('evt_none', 'min_score', '[\"whk_none\"]')");
    expect(findDamage(db)).toHaveLength(1);
    expect(findDamageAtStart(db, 0)).toEqual([]);
    db.exec("DELETE FROM tenants WHERE id = 'ten_a'");
    expect(findDamageAtStart(db, 0)).toContainEqual(expect.stringContaining('refers to a row of tenants'));
    db.close();
  });
});
