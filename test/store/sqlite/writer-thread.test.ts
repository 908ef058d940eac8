import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import type { StorageChange } from '../../../src/store/storage-watch.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { aTenant } from '../../support/store.ts';
import { tempFolder } from './temp-folder.ts';

const ROOT = join(import.meta.dirname, '../../..');

test('the lock of another process is reported across threads as UNAVAILABLE, and is temporary', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  const clock = createManualClock();
  const changes: StorageChange[] = [];
  const onStorageChange = (change: StorageChange) => changes.push(change);
  const store = await openSqliteStore({ file, clock, busyTimeoutMs: 1, writerThread: true, onStorageChange });
  await store.createTenant(aTenant('ten_a'));
  const other = new Sqlite(file);
  other.exec('BEGIN IMMEDIATE');
  await expect(store.createTenant(aTenant('ten_b'))).rejects.toMatchObject({
    name: 'DomainError',
    code: 'UNAVAILABLE',
    extra: { retryAfterSeconds: 1 },
  });
  expect(changes).toEqual([{ state: 'failing', fault: 'outage', reason: 'database is locked' }]);
  other.exec('ROLLBACK');
  other.close();
  await store.createTenant(aTenant('ten_b'));
  expect((await store.listTenants()).map((tenant) => tenant.id).sort()).toEqual(['ten_a', 'ten_b']);
  await store.close();
});

test('commits changes before a close, and rejects later ones', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  const clock = createManualClock();
  const store = await openSqliteStore({ file, clock, writerThread: true });
  const written = store.createTenant(aTenant('ten_a'));
  await store.close();
  await written;
  await expect(store.createTenant(aTenant('ten_b'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  const again = await openSqliteStore({ file, clock });
  expect((await again.listTenants()).map((tenant) => tenant.id)).toEqual(['ten_a']);
  await again.close();
});

// A server without its writer would return 503 forever; one that ends is restarted and recovers.
test('a writer that dies ends the process and says why', async () => {
  const folder = tempFolder();
  const [blocker, script] = [join(folder, 'file'), join(folder, 'write.mjs')];
  writeFileSync(blocker, '');
  const source = `
    import { systemClock } from '${ROOT}/src/lib/clock.ts';
    import { createCommitMeter } from '${ROOT}/src/store/commit-meter.ts';
    import { createThreadWriter } from '${ROOT}/src/store/sqlite/writer.ts';
    const options = { file: '${blocker}/signalpost.db', busyTimeoutMs: 1 };
    const writer = createThreadWriter(options, { meter: createCommitMeter(systemClock), storage: null });
    await writer.run(['writeProbe', [0]]).catch((error) => console.log(error.code));
    setTimeout(() => {}, 60_000);`;
  writeFileSync(script, source);
  const run = promisify(execFile)(process.execPath, [script], { timeout: 15_000 });
  await expect(run).rejects.toMatchObject({ killed: false, stderr: expect.stringContaining('data folder') });
});

test.each([
  ['sqlite', 'runner.ts'],
  ['postgres', 'commit.ts'],
])(
  'the thread on %s imports no schema: zod would cost 100 ms per start and 10 MiB per thread',
  async (engine, own) => {
    const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    await import('./src/store/${engine}/writer.ts');
    console.log(JSON.stringify(loaded));`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', script],
      {
        cwd: ROOT,
      },
    );
    const loaded = JSON.parse(stdout) as string[];
    expect(loaded.filter((url) => url.endsWith(`/src/store/${engine}/${own}`))).toHaveLength(1);
    expect(loaded.filter((url) => url.includes('/node_modules/zod/'))).toEqual([]);
  },
);
