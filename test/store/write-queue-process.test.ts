import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

// A command line has nothing else that keeps the process alive: without care Node ends it with code 13.
test('a process that only awaits a write lives until it is committed, and ends by itself', async () => {
  const script = `
    import { systemClock } from '${ROOT}/src/lib/clock.ts';
    import { createWriteQueue } from '${ROOT}/src/store/write-queue.ts';
    const queue = createWriteQueue({ clock: systemClock, runBatch: (work) => work(), faultOf: () => null });
    console.log(await queue.run(() => 'committed'));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  expect(stdout).toBe('committed\n');
});
