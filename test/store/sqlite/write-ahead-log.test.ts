import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { createTransaction, createWriteAheadLog } from '../../../src/store/sqlite/transaction.ts';
import { tempFolder } from './temp-folder.ts';

/** A database with a row in its log, and another connection to read it. */
function openTwo() {
  const file = join(tempFolder(), 'signalpost.db');
  const [writing, reading] = [openDatabase(file), openDatabase(file)];
  onTestFinished(() => {
    reading.close();
    writing.close();
  });
  const log = createWriteAheadLog(writing);
  const run = createTransaction(writing, log);
  run(() => writing.exec('CREATE TABLE t (v TEXT)'));
  const insert = () => void writing.prepare("INSERT INTO t VALUES ('x')").run();
  return { log, run, insert, reading, logBytes: () => statSync(`${file}-wal`).size };
}

test('does not empty the log without a request', () => {
  const { run, insert, logBytes } = openTwo();
  run(insert);
  expect(logBytes()).toBeGreaterThan(0);
});

test('empties the log after the commit of a change that requests it', () => {
  const { log, run, insert, logBytes } = openTwo();
  run(() => {
    insert();
    log.emptyAfterCommit();
  });
  expect(logBytes()).toBe(0);
});

test('empties a log that a reader still needs after one of the next commits', () => {
  const { log, run, insert, reading, logBytes } = openTwo();
  reading.exec('BEGIN');
  reading.prepare('SELECT count(*) FROM t').get();
  run(() => {
    insert();
    log.emptyAfterCommit();
  });
  expect(logBytes()).toBeGreaterThan(0);
  run(insert);
  expect(logBytes()).toBeGreaterThan(0);
  reading.exec('COMMIT');
  run(insert);
  expect(logBytes()).toBe(0);
  run(insert);
  expect(logBytes()).toBeGreaterThan(0);
});

test('the log takes an eighth of the room on a small disk, and is checkpointed then', () => {
  const file = join(tempFolder(), 'signalpost.db');
  const db = openDatabase(file, { freeBytes: 32 * 1024 * 1024 });
  onTestFinished(() => void db.close());
  db.exec('CREATE TABLE t (v BLOB)');
  for (let i = 0; i < 100; i++) db.prepare('INSERT INTO t VALUES (zeroblob(100000))').run();
  expect(statSync(`${file}-wal`).size).toBeGreaterThan(3_900_000);
  expect(statSync(`${file}-wal`).size).toBeLessThan(4_500_000);
});
