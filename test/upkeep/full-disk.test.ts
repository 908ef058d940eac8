import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { aFullFolder } from './folder.ts';

const ignore = () => undefined;
const mount = (at: string) =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', at]).status === 0;

test('a backup to a full disk says so, and leaves nothing there', async (t) => {
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

test('a backup into a folder that is not there says so', async () => {
  const folder = await aFullFolder();
  await expect(folder.upkeep.backUp('/nowhere/backup.db', false, ignore)).rejects.toMatchObject({
    name: 'StoreUpkeepError',
    message: expect.stringMatching(/cannot be made \(ENOENT\)/),
  });
});
