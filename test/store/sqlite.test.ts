import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createManualClock } from '../support/manual-clock.ts';
import { openTestStore, T0 } from '../support/store.ts';
import { describeStore } from './contract/suite.ts';

describeStore('SQLite in memory', async () => {
  const opened = await openTestStore();
  return { ...opened, [Symbol.asyncDispose]: opened.store.close };
});

describeStore('SQLite in a file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signalpost-store-'));
  const opened = await openTestStore({ clock: createManualClock(T0), file: join(folder, 'signalpost.db') });
  return {
    ...opened,
    async [Symbol.asyncDispose]() {
      await opened.store.close();
      await rm(folder, { recursive: true });
    },
  };
});
