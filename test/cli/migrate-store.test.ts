import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import {
  addMany,
  connected,
  createDatabase,
  expectSameRows,
  KEY,
  makeFullStore,
} from '../support/full-store.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { mayLackPostgres, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { T0 } from '../support/store.ts';
import { run, start, temporaryFolder } from './process.ts';

describe.skipIf(mayLackPostgres())('migrate-store', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('is complete after being killed at any moment and run again', async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'signalpost.db');
    await makeFullStore(file);
    addMany(file, 20_000);
    const to = await createDatabase(server);
    const env = { DATA_DIR: folder.path, SECRETS_KEY: KEY };
    const args = ['migrate-store', '--to', to];
    for (const moment of [/Copying: 0/, /Copying: [1-4]0 %/, /Copying: [5-8]0 %/, /Comparing: 0/]) {
      await using running = start(args, env);
      await running.heard(moment);
      running.kill('SIGKILL');
      await running.ended;
      // No server uses a half-copied store.
      const config = { connectionString: to };
      await expect(openPostgresStore({ config, clock: createManualClock(T0) })).rejects.toMatchObject({
        fault: 'unfinished_copy',
      });
    }
    const last = await run(args, env);
    expect(last).toMatchObject({ code: 0, stdout: expect.stringContaining('Both stores are identical') });
    // It continued: nothing was left to copy.
    const [, copied, total] = /Copying: (\d+) of (\d+) rows/.exec(last.stderr) ?? [];
    expect(copied).toBe(total);
    expect(Number(total)).toBeGreaterThan(40_000);
    await expectSameRows(file, to);

    const again = await run(args, env);
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing was copied') });
  }, 120_000);

  it('names --to if the server cannot be reached, or has no such database', async () => {
    using folder = temporaryFolder();
    await makeFullStore(join(folder.path, 'signalpost.db'));
    const migrateTo = async (to: string) =>
      (await run(['migrate-store', '--to', to], { DATA_DIR: folder.path, SECRETS_KEY: KEY })).stderr;
    const missing = new URL(await createDatabase(server));
    missing.pathname = '/missing';
    expect(await migrateTo(missing.href)).toContain('or correct the name in --to.');
    expect(await migrateTo('postgres://127.0.0.1:1/none')).toContain('or correct host and port in --to.');
  }, 60_000);

  it('compares with an existing store, and shows each table that differs', async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'signalpost.db');
    await makeFullStore(file);
    const to = await createDatabase(server);
    const env = { DATA_DIR: folder.path, SECRETS_KEY: KEY };
    await run(['migrate-store', '--to', to], env);
    await connected(to, (db) =>
      db.execute(`UPDATE api_keys SET name = name || '!'; DELETE FROM signal_search`),
    );
    const { code, stdout, stderr } = await run(['migrate-store', '--to', to], env);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^api_keys .* DIFFERENT$/m);
    expect(stdout).toMatch(/^signal_search .* DIFFERENT$/m);
    expect(stdout).toMatch(/^deliveries .* same$/m);
    // A change to a key counts as one to its tenant.
    expect(stdout).toContain(' tables: api_keys, signal_search, tenants.');
    expect(stderr).toContain('nothing was copied');
  });

  it('refuses a store in use, and another key', async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'signalpost.db');
    await makeFullStore(file);
    const to = await createDatabase(server);
    const copy = (env = {}) =>
      run(['migrate-store', '--to', to], { DATA_DIR: folder.path, SECRETS_KEY: KEY, ...env });
    const open = await openSqliteStore({ file, clock: createManualClock(T0) });
    expect(await copy()).toMatchObject({ code: 1, stderr: expect.stringContaining('is in use') });
    await open.close();

    const otherKey = { SECRETS_KEY: Buffer.alloc(32, 8).toString('base64') };
    expect(await copy(otherKey)).toMatchObject({
      code: 78,
      stderr: expect.stringContaining('another master key'),
    });
  });

  it('never shows the password', async () => {
    using folder = temporaryFolder();
    await makeFullStore(join(folder.path, 'signalpost.db'));
    const env = { DATA_DIR: folder.path, SECRETS_KEY: KEY };
    for (const to of [
      'postgres://u:pa55word@127.0.0.1:1/d',
      'mysql://u:pa55word@127.0.0.1/d',
      'postgres://u:pa55word@[/d',
    ]) {
      const { code, stdout, stderr } = await run(['migrate-store', '--to', to], env);
      expect(code).not.toBe(0);
      expect(stdout + stderr).not.toContain('pa55word');
    }
  });
});
