import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createManualClock } from '../support/manual-clock.ts';
import { openTestStore, T0 } from '../support/store.ts';
import { describeStore } from './contract/suite.ts';
import { tempFolder } from './sqlite/temp-folder.ts';

describeStore('SQLite in a file', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  const opened = await openTestStore({ clock: createManualClock(T0), file });
  onTestFinished(opened.store.close);
  return opened;
});
