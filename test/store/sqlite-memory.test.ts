import { onTestFinished } from 'vitest';
import { openTestStore } from '../support/store.ts';
import { describeStore } from './contract/suite.ts';

describeStore('SQLite in memory', async () => {
  const opened = await openTestStore();
  onTestFinished(opened.store.close);
  return opened;
});
