import type { Database } from 'better-sqlite3';
import {
  type KeySharer,
  type KnownSignalStatements,
  MAX_COMPARED,
  type NearRow,
} from '../../changes/known-signals.ts';
import { row, rows, run } from './prepared.ts';

const AT_PLACE = 'tenant_id = +:tenantId AND profile_id = +:profileId AND platform = +:platform';

function atPlace(condition: string): string {
  return `SELECT id, wire FROM signals WHERE id = coalesce(
     (SELECT id FROM signals WHERE ${AT_PLACE} AND ${condition} ORDER BY seq LIMIT 1),
     (SELECT signal_id FROM signal_places WHERE ${AT_PLACE} AND ${condition} LIMIT 1))`;
}

function newestOf(key: number): string {
  return `SELECT seq FROM (SELECT seq FROM signal_near_keys
    WHERE key = CAST(:key${key} AS INTEGER) AND seq >= CAST(:since AS INTEGER) << 21
    ORDER BY seq DESC LIMIT ${MAX_COMPARED})`;
}

export function knownSignalsSql(db: Database): KnownSignalStatements['knownSignals'] {
  // The casts are needed because numbers are bound as floating point.
  const findNear = rows<Record<string, unknown>[], Omit<KeySharer, 'place'>>(
    db,
    `SELECT s.id, n.keys
     FROM (SELECT seq, count(*) AS keys FROM (${[0, 1, 2, 3, 4].map(newestOf).join(' UNION ALL ')})
           GROUP BY seq ORDER BY keys DESC, seq DESC LIMIT ${MAX_COMPARED}) n
     CROSS JOIN signals s ON s.seq = n.seq
     WHERE s.tenant_id = +:tenantId AND s.profile_id = +:profileId
     ORDER BY n.keys DESC, n.seq DESC`,
  );

  const selectNear = row<[string], NearRow>(db, 'SELECT id, wire, text, timestamp FROM signals WHERE id = ?');

  const insertKey = run<[number, string]>(
    db,
    'INSERT OR IGNORE INTO signal_near_keys (key, seq) SELECT CAST(? AS INTEGER), seq FROM signals WHERE id = ?',
  );

  return {
    findByExternalId: row(db, atPlace('external_id = +:externalId')),
    findByUrl: row(
      db,
      atPlace('canonical_url = +:canonicalUrl AND (external_id IS NULL OR :externalId IS NULL)'),
    ),
    findNear: (texts) =>
      texts.flatMap(({ nearKeys: [key0, key1, key2, key3, key4], ...terms }, place) =>
        findNear({ key0, key1, key2, key3, key4, ...terms }).map((found) => ({ ...found, place })),
      ),
    selectNear: (ids) => ids.map((id) => selectNear(id)).filter((found) => found !== undefined),
    insertKeys(keys, id) {
      for (const key of keys) insertKey(key, id);
    },
    deleteKey: run(
      db,
      'DELETE FROM signal_near_keys WHERE key = CAST(? AS INTEGER) AND seq = (SELECT seq FROM signals WHERE id = ?)',
    ),
    selectText: row(
      db,
      'SELECT tenant_id AS tenantId, profile_id AS profileId, text FROM signals WHERE id = ?',
    ),
    insertPlace: run(
      db,
      `INSERT INTO signal_places (signal_id, position, tenant_id, profile_id, platform, external_id, canonical_url)
     SELECT :signalId, count(*), :tenantId, :profileId, :platform, :externalId, :canonicalUrl
     FROM signal_places WHERE signal_id = :signalId`,
    ),
    deletePlaces: run(db, 'DELETE FROM signal_places WHERE signal_id = ?'),
    updateWire: run(db, 'UPDATE signals SET wire = ? WHERE id = ?'),
    insertPerson: run(db, 'INSERT OR IGNORE INTO signal_people (tenant_id, key, signal_id) VALUES (?, ?, ?)'),
  };
}
