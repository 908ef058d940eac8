import type { Database } from 'better-sqlite3';
import type { CommittedSignal, NewSignal } from '../../signal-store.ts';
import { createSignalSearchSql } from '../tables/signal-search.ts';
import { createSignalSql } from '../tables/signals.ts';
import { createEventWriter } from './events.ts';

export function signalOperations(db: Database) {
  const signals = createSignalSql(db);
  const search = createSignalSearchSql(db);
  const insertRouted = createEventWriter(db);

  return {
    commitSignals: (changes: NewSignal[]): CommittedSignal[] =>
      changes.map((signal) => {
        const committed = signals.insert(signal);
        if (committed.status === 'duplicate') return committed;
        search.indexInserted(signal);
        signal.events.forEach(insertRouted);
        return committed;
      }),
  };
}
