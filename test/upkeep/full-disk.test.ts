import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { aFullFolder } from './folder.ts';

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

test('reports a backup target in a missing folder', async () => {
  const folder = await aFullFolder();
  await expect(folder.upkeep.backUp('/nowhere/backup.db', false, ignore)).rejects.toMatchObject({
    name: 'StoreUpkeepError',
    message: expect.stringMatching(/cannot be made \(ENOENT\)/),
  });
});
