import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { aFolder, aFullFolder, SECRET, secretIn } from './folder.ts';

const ignore = () => undefined;

test('a backup is one file for this user alone, without the key unless it is asked for', async () => {
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

test('with the key it is restored on a fresh folder, whole; the key is left in no page of the database', async () => {
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

test('without it the database is restored, and what is missing is said; a key put there then opens it', async () => {
  const folder = await aFullFolder();
  const backup = join(folder.outside, 'backup.db');
  await folder.upkeep.backUp(backup, false, ignore);
  const fresh = aFolder();
  expect(await fresh.upkeep.restore(backup, ignore)).toMatchObject({ key: 'missing' });
  await expect(fresh.open()).rejects.toMatchObject({ fault: 'other_key' });
  copyFileSync(join(folder.path, 'secrets.key'), join(fresh.path, 'secrets.key'));
  expect(await secretIn(fresh)).toBe(SECRET);
});

test('a key that is there and does not belong to the backup is a refusal, and changes nothing', async () => {
  const backup = join((await aFullFolder()).outside, 'backup.db');
  const folder = await aFullFolder();
  await folder.upkeep.backUp(backup, false, ignore);
  const other = await aFullFolder();
  const before = readFileSync(other.file);
  await expect(other.upkeep.restore(backup, ignore)).rejects.toMatchObject({ fault: 'other_key' });
  expect(readFileSync(other.file).equals(before)).toBe(true);
  expect(readdirSync(other.path).sort()).toEqual(['secrets.key', 'signalpost.db']);
});

test('what was there before is put aside, with its key, and not removed', async () => {
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

test('a database in use is not replaced', async () => {
  const folder = await aFullFolder();
  const backup = join(folder.outside, 'backup.db');
  await folder.upkeep.backUp(backup, true, ignore);
  const { store } = await folder.open();
  await expect(folder.upkeep.restore(backup, ignore)).rejects.toThrow(/is in use/);
  await expect(folder.upkeep.rotateKey()).rejects.toThrow(/is in use/);
  await store.close();
  await folder.upkeep.restore(backup, ignore);
});

test('an older backup is not overwritten, and a file that is no backup is not restored', async () => {
  const folder = await aFullFolder();
  const target = join(folder.outside, 'backup.db');
  writeFileSync(target, 'something else');
  await expect(folder.upkeep.backUp(target, false, ignore)).rejects.toThrow(/is there already/);
  expect(readFileSync(target, 'utf8')).toBe('something else');
  await expect(folder.upkeep.restore(target, ignore)).rejects.toThrow(/is not a SQLite database/);
  writeFileSync(target, '');
  await expect(folder.upkeep.restore(target, ignore)).rejects.toThrow(/is no backup/);
  await expect(folder.upkeep.restore(join(folder.outside, 'none'), ignore)).rejects.toThrow(
    /There is no file/,
  );
  expect(readdirSync(folder.path).sort()).toEqual(['secrets.key', 'signalpost.db']);
});

test('of a damaged database no backup is kept', async () => {
  const folder = await aFullFolder();
  const bytes = readFileSync(folder.file);
  bytes.fill(0xff, bytes.length - 8192 * 3, bytes.length - 8192 * 2);
  writeFileSync(folder.file, bytes);
  await expect(folder.upkeep.backUp(join(folder.outside, 'b'), false, ignore)).rejects.toThrow(/damaged/);
  expect(readdirSync(folder.outside)).toEqual(['data']);
});

test('a folder without a database is told so', async () => {
  const folder = aFolder();
  await expect(folder.upkeep.backUp('x', false, ignore)).rejects.toThrow(/There is no database/);
  expect(() => folder.upkeep.check()).toThrow(/There is no database/);
});

test('after a rotation old keys open what they closed, the new one closes, and an older backup is still restored', async () => {
  const folder = await aFullFolder();
  const backup = join(folder.outside, 'backup.db');
  await folder.upkeep.backUp(backup, false, ignore);
  const keyFile = join(folder.path, 'secrets.key');
  const old = readFileSync(keyFile, 'utf8');
  expect(await folder.upkeep.rotateKey()).toEqual({ file: keyFile });
  expect(readFileSync(keyFile, 'utf8')).toMatch(new RegExp(`^[^\\n]{44}\\n${old.replace(/[+/]/g, '\\$&')}$`));
  expect(statSync(keyFile).mode & 0o777).toBe(0o600);
  expect(await secretIn(folder)).toBe(SECRET);
  // The database knows the new key from then on: with the old one alone it is not opened.
  writeFileSync(keyFile, old);
  await expect(folder.open()).rejects.toMatchObject({ fault: 'other_key' });
  rmSync(keyFile);
});

test('a key that is a setting is not written anywhere: what it is to be set to is told', async () => {
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
  "what root makes in a folder is its owner's, so that the server still opens it",
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
