import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { startMigrated, T0 } from '../support/store.ts';
import { describeStore } from './contract/suite.ts';
import { tempFolder } from './sqlite/temp-folder.ts';

describeStore('SQLite in a file, written in a thread of its own', async () => {
  const clock = createManualClock(T0);
  const file = join(tempFolder(), 'signalpost.db');
  startMigrated(file);
  const store = await openSqliteStore({ file, clock, writerThread: true });
  onTestFinished(store.close);
  return { store, clock };
});
