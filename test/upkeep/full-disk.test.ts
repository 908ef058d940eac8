import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { aFolder, aFullFolder } from './folder.ts';

const ignore = () => undefined;
const mount = (at: string) =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', at]).status === 0;

test('reports a full disk during a backup, and leaves no file behind', async (t) => {
  const folder = await aFullFolder();
  const small = join(folder.outside, 'small');
  mkdirSync(small);
  if (!mount(small)) return t.skip('only root may mount a disk of its own');
  onTestFinished(() => void spawnSync('umount', [small]));
  await expect(folder.upkeep.backUp(join(small, 'backup.db'), false, ignore)).rejects.toMatchObject({
    name: 'StoreUpkeepError',
    message: expect.stringMatching(/backup\.db\.part cannot be written: the disk is full/),
  });
  expect(readdirSync(small)).toEqual([]);
});

test('a first start on a full disk says so, leaves nothing behind, and succeeds once there is room', async (t) => {
  const small = join(aFolder().outside, 'small');
  mkdirSync(small);
  if (!mount(small)) return t.skip('only root may mount a disk of its own');
  onTestFinished(() => void spawnSync('umount', [small]));
  const ballast = join(small, 'ballast');
  const folder = aFolder({ DATA_DIR: join(small, 'data') });
  const fill = (bytes: number) => writeFileSync(ballast, Buffer.alloc(bytes));
  fill(256 * 1024);
  await expect(folder.open()).rejects.toThrow(/The disk of the data folder .* is full\. Make room/);
  expect(readdirSync(folder.path)).toEqual([]);
  // Room for the key only.
  fill(252 * 1024);
  await expect(folder.open()).rejects.toMatchObject({
    message: expect.stringMatching(/signalpost\.db cannot be opened: the disk is full\. Make room/),
  });
  rmSync(ballast);
  spawnSync('mount', ['-o', 'remount,size=16m', small]);
  await (await folder.open()).store.close();
});

test('reports a backup target in a folder that is missing or cannot be used', async () => {
  const folder = await aFullFolder();
  for (const [path, why] of [
    ['/nowhere/backup.db', 'ENOENT'],
    ['/etc/passwd/backup.db', 'ENOTDIR'], // like EACCES, also where a file is only removed
  ] as const)
    await expect(folder.upkeep.backUp(path, false, ignore)).rejects.toMatchObject({
      name: 'StoreUpkeepError',
      message: expect.stringContaining(`cannot be made (${why})`),
    });
});
