import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

// Nothing else keeps a command's process alive: otherwise, Node would exit with code 13.
test('a process that only awaits a write stays alive until it is committed, and then exits', async () => {
  const script = `
    import { openSqliteStore } from '${ROOT}/src/store/sqlite/open.ts';
    import { systemClock } from '${ROOT}/src/lib/clock.ts';
    const store = await openSqliteStore({ file: ':memory:', clock: systemClock });
    await store.probe();
    console.log('committed');`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  expect(stdout).toBe('committed\n');
});
