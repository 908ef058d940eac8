import type { Database } from 'better-sqlite3';
import type { CommittedSignal, NewSignal, SignalStore } from '../../signal-store.ts';
import type { Part } from '../../store.ts';
import type { FindKnownSignal } from '../reads/known-signals.ts';
import { createAdoption } from './adoption.ts';
import { createCompanyObserver } from './companies.ts';
import { createEventWriter } from './events.ts';
import { createKnownSignals } from './known-signals.ts';
import { createSignalEdits } from './signal-edits.ts';
import { createSignalIndex } from './signal-index.ts';
import { createSignalRemover } from './signal-removal.ts';

export function signalChanges(db: Database, write: SignalWriter) {
  const adopt = createAdoption(db);
  const edits = createSignalEdits(db);
  const remover = createSignalRemover(db);
  const saveFeedback = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO signal_feedback (signal_id, relevant, reason, actor_id, created_at, profile_id, seq)
     SELECT id, :relevant, :reason, :actorId, :createdAt, profile_id, seq FROM signals WHERE id = :signalId AND tenant_id = :tenantId
     ON CONFLICT (signal_id) DO UPDATE SET
       relevant = excluded.relevant, reason = excluded.reason, actor_id = excluded.actor_id,
       created_at = excluded.created_at`,
  );
  const selectRelevant = db
    .prepare<[string], number>('SELECT relevant FROM signal_feedback WHERE signal_id = ?')
    .pluck();
  const countRelevant = db.prepare<[number, string]>(
    `UPDATE sources SET items_relevant = items_relevant + ?
     WHERE id = (SELECT source_id FROM source_signals WHERE signal_id = ?)`,
  );

  const pruneNearKeys = db.prepare<[number, number]>(
    `DELETE FROM signal_near_keys WHERE (key, seq) IN (
       SELECT key, seq FROM signal_near_keys INDEXED BY signal_near_keys_by_seq
       WHERE seq < CAST(? AS INTEGER) << 21 ORDER BY seq LIMIT ?)`,
  );

  return {
    commitSignals: (signals) =>
      signals.map((signal) => {
        const committed = write(signal);
        const outdated = edits.outdatedBy(signal);
        return {
          ...committed,
          ...(committed.status === 'created' && { wire: adopt(signal) }),
          ...(outdated.length > 0 && { outdated }),
        };
      }),
    editSignals: edits.editSignals,
    pruneNearKeys: (before, limit) => pruneNearKeys.run(before, limit).changes,
    removeSignalsOf: remover.removeOfPlatform,
    deleteSignal: remover.removeOne,
    saveFeedback(feedback) {
      const relevant = feedback.relevant ? 1 : 0;
      const before = selectRelevant.get(feedback.signalId) ?? 0;
      if (saveFeedback.run({ ...feedback, relevant }).changes !== 1) return false;
      if (relevant !== before) countRelevant.run(relevant - before, feedback.signalId);
      return true;
    },
  } satisfies Part<SignalStore>;
}

export type SignalChanges = ReturnType<typeof signalChanges>;

/** Stores a signal with its terms, its author's keys, its company and its events, unless it is known: part of a change. */
export type SignalWriter = (signal: NewSignal) => CommittedSignal;

export function createSignalWriter(db: Database, findKnown: FindKnownSignal): SignalWriter {
  // `seq` takes the next free place of its millisecond; a full one breaks the table's CHECK instead of another's order.
  // The cast: numbers are bound as floating point, which would round the sum.
  const insert = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO signals
       (seq, id, tenant_id, profile_id, platform, signal_type, classification, score, timestamp, company_domain,
        external_id, canonical_url, wire, explanation, text)
     VALUES
       ((:timestamp << 21)
          + (ifnull((SELECT (max(seq) >> 7) & 16383 FROM signals
                     WHERE seq >= :timestamp << 21 AND seq < (:timestamp + 1) << 21) + 1, 0) << 7)
          + CAST(:score AS INTEGER),
        :id, :tenantId, :profileId, :platform, :signalType, :classification, :score, :timestamp, :companyDomain,
        :externalId, :canonicalUrl, :wire, :explanation, :text)`,
  );
  const insertPerson = db.prepare<[string, string, string]>(
    'INSERT INTO signal_people (tenant_id, key, signal_id) VALUES (?, ?, ?)',
  );
  const knownSignals = createKnownSignals(db);
  const index = createSignalIndex(db);
  const observeCompany = createCompanyObserver(db);
  const insertRouted = createEventWriter(db);

  return (signal) => {
    const { events, personKeys, nearKeys: _keys, company, ...columns } = signal;
    // Looked for in the transaction that stores it, earlier ones of the same change included: no two can miss each other.
    const known = findKnown(signal);
    if (known !== null) {
      const wire = known.elsewhere ? knownSignals.addPlace(known, signal) : known.wire;
      return { status: 'duplicate', id: known.id, wire };
    }
    insert.run(columns);
    index.addInserted(signal);
    knownSignals.add(signal);
    for (const key of personKeys) insertPerson.run(signal.tenantId, key, signal.id);
    if (company !== null) observeCompany(signal, company);
    events.forEach(insertRouted);
    return { status: 'created', id: signal.id, wire: signal.wire };
  };
}
