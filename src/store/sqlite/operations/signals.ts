import type { Database } from 'better-sqlite3';
import type { CommittedSignal, NewSignal } from '../../signal-store.ts';
import { createSignalSql } from '../tables/signals.ts';
import { createEventWriter } from './events.ts';

export function signalOperations(db: Database) {
  const signals = createSignalSql(db);
  const insertRouted = createEventWriter(db);

  return {
    commitSignals: (changes: NewSignal[]): CommittedSignal[] =>
      changes.map((signal) => {
        const committed = signals.insert(signal);
        if (committed.status === 'created') signal.events.forEach(insertRouted);
        return committed;
      }),
  };
}
