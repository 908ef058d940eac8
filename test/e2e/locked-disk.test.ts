import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { openRuntime } from '../../src/runtime.ts';
import { tempFolder } from '../store/sqlite/temp-folder.ts';
import { serverEnv } from '../support/server-process.ts';
import { aTenant } from '../support/store.ts';

test.each([false, true])(
  'a database locked by another process is logged once at error, and callers get 503 (thread: %s)',
  { timeout: 60_000 },
  async (writerThread) => {
    const lines: { level: number; fault?: string; msg: string }[] = [];
    const logger = pino({ level: 'error' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const folder = tempFolder();
    const runtime = await openRuntime(loadConfig(serverEnv(folder, 0)), { logger, writerThread });
    const other = new Sqlite(join(folder, 'signalpost.db'));
    other.exec('BEGIN IMMEDIATE');
    const makeTenant = (id: string) => runtime.store.createTenant(aTenant(id));
    for (const id of ['ten_a', 'ten_b'])
      await expect(makeTenant(id)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    other.exec('ROLLBACK');
    other.close();
    await makeTenant('ten_c');
    expect(runtime.store.pulse().refused).toBe(2);
    await runtime.close();
    expect(lines).toMatchObject([
      { level: 50, fault: 'outage', msg: expect.stringContaining('cannot be written') },
    ]);
  },
);
