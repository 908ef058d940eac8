import type { Database } from 'better-sqlite3';
import type { CommittedSignal, NewSignal, SignalFeedback } from '../../signal-store.ts';
import { createCompanySql } from '../tables/companies.ts';
import { createFeedbackSql } from '../tables/feedback.ts';
import { createSignalPeopleSql } from '../tables/signal-people.ts';
import { createSignalSearchSql } from '../tables/signal-search.ts';
import { createSignalSql } from '../tables/signals.ts';
import { createAdoption } from './adoption.ts';
import { createEventWriter } from './events.ts';

export function signalOperations(db: Database) {
  const write = createSignalWriter(db);
  const adopt = createAdoption(db);
  const feedback = createFeedbackSql(db);
  return {
    commitSignals: (changes: NewSignal[]): CommittedSignal[] =>
      changes.map((signal) => {
        const committed = write(signal);
        return committed.status === 'created' ? { ...committed, wire: adopt(signal) } : committed;
      }),
    saveFeedback: (said: SignalFeedback): boolean => feedback.save(said),
  };
}

/** Stores a signal with its terms, its author's keys, its company and its events, unless it is known: part of a change. */
export function createSignalWriter(db: Database): (signal: NewSignal) => CommittedSignal {
  const signals = createSignalSql(db);
  const search = createSignalSearchSql(db);
  const people = createSignalPeopleSql(db);
  const companies = createCompanySql(db);
  const insertRouted = createEventWriter(db);

  return (signal) => {
    const committed = signals.insert(signal);
    if (committed.status === 'duplicate') return committed;
    search.indexInserted(signal);
    people.insert(signal.tenantId, signal.id, signal.personKeys);
    if (signal.company !== null) companies.observe(signal, signal.company);
    signal.events.forEach(insertRouted);
    return committed;
  };
}
