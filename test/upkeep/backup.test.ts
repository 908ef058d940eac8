import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { copyDatabase } from '../../src/store/sqlite/upkeep/copy.ts';
import { restoreSqlite } from '../../src/store/sqlite/upkeep/restore.ts';
import { aFolder, aFullFolder, SECRET, secretIn } from './folder.ts';

const ignore = () => undefined;

test('a backup is a single file only its owner can read, with the key only on request', async () => {
  const folder = await aFullFolder();
  const target = join(folder.outside, 'backup.db');
  const { bytes } = await folder.upkeep.backUp(target, false, ignore);
  expect(statSync(target).mode & 0o777).toBe(0o600);
  expect(statSync(target).size).toBe(bytes);
  expect(readdirSync(folder.outside).sort()).toEqual(['backup.db', 'data']);
  const key = readFileSync(join(folder.path, 'secrets.key'), 'utf8').trim();
  expect(readFileSync(target).includes(key)).toBe(false);
  await folder.upkeep.backUp(`${target}2`, true, ignore);
  expect(readFileSync(`${target}2`).includes(key)).toBe(true);
});

test('restores a backup with its key into a new folder, leaving no key in the database', async () => {
  const folder = await aFullFolder();
  const backup = join(folder.outside, 'backup.db');
  await folder.upkeep.backUp(backup, true, ignore);
  const fresh = aFolder();
  expect(await fresh.upkeep.restore(backup, ignore)).toEqual({
    file: fresh.file,
    putAside: null,
    key: 'packed',
  });
  const key = readFileSync(join(fresh.path, 'secrets.key'), 'utf8');
  expect(key).toBe(readFileSync(join(folder.path, 'secrets.key'), 'utf8'));
  expect(readFileSync(fresh.file).includes(key.trim())).toBe(false);
  expect(await secretIn(fresh)).toBe(SECRET);
  const { store } = await fresh.open();
  expect((await store.getDelivery('ten_a', 'dlv_2'))?.status).toBe('pending');
  await store.close();
});

test('reports that a backup lacks its key, and opens the database once the key is added', async () => {
  const folder = await aFullFolder();
  const backup = join(folder.outside, 'backup.db');
  await folder.upkeep.backUp(backup, false, ignore);
  const fresh = aFolder();
  expect(await fresh.upkeep.restore(backup, ignore)).toMatchObject({ key: 'missing' });
  await expect(fresh.open()).rejects.toMatchObject({ fault: 'other_key' });
  copyFileSync(join(folder.path, 'secrets.key'), join(fresh.path, 'secrets.key'));
  expect(await secretIn(fresh)).toBe(SECRET);
});

test('refuses to restore next to the key of another database, and changes nothing', async () => {
  const backup = join((await aFullFolder()).outside, 'backup.db');
  const folder = await aFullFolder();
  await folder.upkeep.backUp(backup, false, ignore);
  const other = await aFullFolder();
  const before = readFileSync(other.file);
  await expect(other.upkeep.restore(backup, ignore)).rejects.toMatchObject({ fault: 'other_key' });
  expect(readFileSync(other.file).equals(before)).toBe(true);
  expect(readdirSync(other.path).sort()).toEqual(['secrets.key', 'signalpost.db']);
});

test('keeps the previous database and its key aside when restoring', async () => {
  const folder = await aFullFolder();
  const backup = join(folder.outside, 'backup.db');
  await folder.upkeep.backUp(backup, true, ignore);
  const other = await aFullFolder();
  const { putAside, key } = await other.upkeep.restore(backup, ignore);
  expect(key).toBe('packed');
  expect(existsSync(putAside ?? '')).toBe(true);
  expect(readdirSync(other.path).filter((name) => name.includes('before-restore'))).toHaveLength(2);
  expect(await secretIn(other)).toBe(SECRET);
});

test('the database keeps its name until the backup can take it', async () => {
  const folder = await aFullFolder();
  const backup = join(folder.outside, 'backup.db');
  await folder.upkeep.backUp(backup, false, ignore);
  const order = { from: backup, file: folder.file, suffix: '.aside' };
  // As if the disk failed in the last step.
  await expect(restoreSqlite({ ...order, admit: (draft) => rmSync(draft) })).rejects.toThrow('ENOENT');
  expect(readdirSync(folder.path).sort()).toEqual(['secrets.key', 'signalpost.db']);
  expect(await secretIn(folder)).toBe(SECRET);
});

test('a backup is flushed every 16 MiB, so that the commits of a server do not wait for all of it', async () => {
  const folder = await aFullFolder();
  folder.spoil(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
     INSERT INTO delivery_bodies (body) SELECT hex(zeroblob(512 * 1024)) FROM n`,
  );
  const target = join(folder.outside, 'copy.db');
  const flushed: number[] = [];
  await copyDatabase(folder.file, target, { flush: () => flushed.push(statSync(target).size) });
  expect(flushed).toHaveLength(2);
  expect(flushed[1]).toBeGreaterThan(1024 * 1024);
});

test('refuses to replace a database in use', async () => {
  const folder = await aFullFolder();
  const backup = join(folder.outside, 'backup.db');
  await folder.upkeep.backUp(backup, true, ignore);
  const { store } = await folder.open();
  await expect(folder.upkeep.restore(backup, ignore)).rejects.toThrow(/is in use/);
  await expect(folder.upkeep.rotateKey()).rejects.toThrow(/is in use/);
  await store.close();
  await folder.upkeep.restore(backup, ignore);
});

test('does not overwrite an existing file, and does not restore a file that is not a backup', async () => {
  const folder = await aFullFolder();
  const target = join(folder.outside, 'backup.db');
  writeFileSync(target, 'something else');
  await expect(folder.upkeep.backUp(target, false, ignore)).rejects.toThrow(/is there already/);
  expect(readFileSync(target, 'utf8')).toBe('something else');
  await expect(folder.upkeep.restore(target, ignore)).rejects.toThrow(/is no backup/);
  writeFileSync(target, '');
  await expect(folder.upkeep.restore(target, ignore)).rejects.toThrow(/is no backup/);
  const foreign = new Sqlite(join(folder.outside, 'foreign.db'));
  foreign.exec('CREATE TABLE theirs (a); PRAGMA user_version = 3');
  foreign.close();
  await expect(folder.upkeep.restore(foreign.name, ignore)).rejects.toThrow(/is no backup/);
  await expect(folder.upkeep.restore(folder.outside, ignore)).rejects.toThrow(/is not a file/);
  await (await aFullFolder()).upkeep.backUp(join(folder.outside, 'cut.db'), false, ignore);
  truncateSync(join(folder.outside, 'cut.db'), 8192 * 20);
  await expect(folder.upkeep.restore(join(folder.outside, 'cut.db'), ignore)).rejects.toThrow(
    /cut\.db is damaged or incomplete\. Nothing was changed\. Restore another backup/,
  );
  await expect(folder.upkeep.restore(join(folder.outside, 'none'), ignore)).rejects.toThrow(
    /There is no file/,
  );
  expect(readdirSync(folder.path).sort()).toEqual(['secrets.key', 'signalpost.db']);
});

test('keeps no backup of a damaged database', async () => {
  const folder = await aFullFolder();
  const bytes = readFileSync(folder.file);
  bytes.fill(0xff, bytes.length - 8192 * 3, bytes.length - 8192 * 2);
  writeFileSync(folder.file, bytes);
  await expect(folder.upkeep.backUp(join(folder.outside, 'b'), false, ignore)).rejects.toThrow(/damaged/);
  expect(readdirSync(folder.outside)).toEqual(['data']);
});

test('reports a folder without a database', async () => {
  const folder = aFolder();
  await expect(folder.upkeep.backUp('x', false, ignore)).rejects.toThrow(/There is no database/);
  expect(() => folder.upkeep.check()).toThrow(/There is no database/);
});

test('a rotated key file lists the new key first, and the old one still opens secrets', async () => {
  const folder = await aFullFolder();
  const backup = join(folder.outside, 'backup.db');
  await folder.upkeep.backUp(backup, false, ignore);
  const keyFile = join(folder.path, 'secrets.key');
  const old = readFileSync(keyFile, 'utf8');
  expect(await folder.upkeep.rotateKey()).toEqual({ file: keyFile });
  expect(readFileSync(keyFile, 'utf8')).toMatch(new RegExp(`^[^\\n]{44}\\n${old.replace(/[+/]/g, '\\$&')}$`));
  expect(statSync(keyFile).mode & 0o777).toBe(0o600);
  expect(await secretIn(folder)).toBe(SECRET);
  // From now on, the database requires the new key: the old one alone does not open it.
  writeFileSync(keyFile, old);
  await expect(folder.open()).rejects.toMatchObject({ fault: 'other_key' });
  rmSync(keyFile);
});

test('rotating a key from the settings writes no file and returns the new value of the setting', async () => {
  const key = Buffer.alloc(32, 3).toString('base64');
  const folder = await aFullFolder({ SECRETS_KEY: key });
  const rotated = await folder.upkeep.rotateKey();
  if (!('setting' in rotated)) throw new Error('it was written');
  expect(rotated.setting).toMatch(new RegExp(`^[^,]{44},${key.replace(/[+/]/g, '\\$&')}$`));
  expect(readdirSync(folder.path)).toEqual(['signalpost.db']);
  const later = aFolder({ DATA_DIR: folder.path, SECRETS_KEY: rotated.setting });
  expect(await secretIn(later)).toBe(SECRET);
});

const asRoot = process.geteuid?.() === 0;

test.runIf(asRoot)(
  'files that root creates in a folder belong to its owner, so that the server can open them',
  async () => {
    const folder = await aFullFolder();
    const backup = join(folder.outside, 'backup.db');
    await folder.upkeep.backUp(backup, true, ignore);
    const fresh = aFolder();
    mkdirSync(fresh.path);
    chownSync(fresh.path, 12_345, 12_346);
    await fresh.upkeep.restore(backup, ignore);
    const ownersOf = () =>
      ['signalpost.db', 'secrets.key'].map((name) => {
        const { uid, gid } = statSync(join(fresh.path, name));
        return [uid, gid];
      });
    const theirs = [
      [12_345, 12_346],
      [12_345, 12_346],
    ];
    expect(ownersOf()).toEqual(theirs);
    await fresh.upkeep.rotateKey();
    expect(ownersOf()).toEqual(theirs);
    expect(statSync(backup).uid).toBe(0);
  },
);
