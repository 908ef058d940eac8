import type { Database } from 'better-sqlite3';
import type { CommittedSignal, NewSignal, SignalDetail } from '../../signal-store.ts';

interface KnownRow {
  id: string;
  wire: string;
}

/** Signals as they are stored and shown one by one; lists are in `signal-list.ts`. */
export function createSignalSql(db: Database) {
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
        :externalId, :canonicalUrl, :wire, :explanation, :text)
     ON CONFLICT DO NOTHING`,
  );
  const known = (column: 'external_id' | 'canonical_url') =>
    db.prepare<[string, string, string, string], KnownRow>(
      `SELECT id, wire FROM signals WHERE tenant_id = ? AND profile_id = ? AND platform = ? AND ${column} = ?`,
    );
  const knownByExternalId = known('external_id');
  const knownByUrl = known('canonical_url');
  const selectOne = db.prepare<[string, string], SignalDetail>(
    'SELECT wire, explanation, text FROM signals WHERE id = ? AND tenant_id = ?',
  );

  function findKnown({
    tenantId,
    profileId,
    platform,
    externalId,
    canonicalUrl,
  }: NewSignal): KnownRow | null {
    const byId = externalId !== null && knownByExternalId.get(tenantId, profileId, platform, externalId);
    if (byId) return byId;
    return (canonicalUrl !== null && knownByUrl.get(tenantId, profileId, platform, canonicalUrl)) || null;
  }

  return {
    /** Stores it, or tells which one was there already: the unique indexes decide, earlier ones of this call included. */
    insert(signal: NewSignal): CommittedSignal {
      const { events: _events, personKeys: _keys, company: _company, ...columns } = signal;
      if (insert.run(columns).changes === 1) return { status: 'created', id: signal.id, wire: signal.wire };
      const row = findKnown(signal);
      if (row === null) throw new Error(`Signal ${signal.id} exists, and is another post.`);
      return { status: 'duplicate', ...row };
    },
    /** Id of the stored signal that is the same post and profile, or null. */
    known: (signal: NewSignal): string | null => findKnown(signal)?.id ?? null,
    get: (tenantId: string, id: string): SignalDetail | null => selectOne.get(id, tenantId) ?? null,
  };
}
