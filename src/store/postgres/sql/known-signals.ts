import { type KnownSignalStatements, MAX_COMPARED } from '../../changes/known-signals.ts';
import type { Connection } from '../connection.ts';
import { type Later, row, run, values } from './prepared.ts';

const AT_PLACE = 'tenant_id = :tenantId AND profile_id = :profileId AND platform = :platform';
const OF_URL = 'md5(canonical_url) = md5(:canonicalUrl) AND canonical_url = :canonicalUrl';

function atPlace(condition: string): string {
  return `SELECT id, wire FROM signals WHERE id = coalesce(
     (SELECT id FROM signals WHERE ${AT_PLACE} AND ${condition} ORDER BY seq LIMIT 1),
     (SELECT signal_id FROM signal_places WHERE ${AT_PLACE} AND ${condition} LIMIT 1))`;
}

export function knownSignalsSql(db: Connection): Later<KnownSignalStatements['knownSignals']> {
  return {
    findByExternalId: row(db, atPlace('external_id = :externalId')),
    findByUrl: row(db, atPlace(`${OF_URL} AND (external_id IS NULL OR :externalId::text IS NULL)`)),
    findNear: values(
      db,
      `SELECT s.id
       FROM (SELECT newest.seq, count(*) AS keys
             FROM unnest(:nearKeys::bigint[]) k (key) CROSS JOIN LATERAL (
               SELECT n.seq FROM signal_near_keys n WHERE n.key = k.key AND n.seq >= :since::bigint << 21
               ORDER BY n.seq DESC LIMIT ${MAX_COMPARED}) newest
             GROUP BY newest.seq ORDER BY keys DESC, newest.seq DESC LIMIT ${MAX_COMPARED}) n
         JOIN signals s ON s.seq = n.seq
       WHERE s.tenant_id = :tenantId AND s.profile_id = :profileId
       ORDER BY n.keys DESC, n.seq DESC`,
    ),
    selectNear: row(db, 'SELECT id, wire, text, timestamp FROM signals WHERE id = ?'),
    insertKey: run(
      db,
      'INSERT INTO signal_near_keys (key, seq) SELECT ?::bigint, seq FROM signals WHERE id = ? ON CONFLICT DO NOTHING',
    ),
    deleteKey: run(
      db,
      'DELETE FROM signal_near_keys WHERE key = ? AND seq = (SELECT seq FROM signals WHERE id = ?)',
    ),
    selectText: row(
      db,
      'SELECT tenant_id AS "tenantId", profile_id AS "profileId", text FROM signals WHERE id = ?',
    ),
    insertPlace: run(
      db,
      `INSERT INTO signal_places (signal_id, position, tenant_id, profile_id, platform, external_id, canonical_url)
       SELECT :signalId, count(*), :tenantId, :profileId, :platform, :externalId, :canonicalUrl
       FROM signal_places WHERE signal_id = :signalId`,
    ),
    deletePlaces: run(db, 'DELETE FROM signal_places WHERE signal_id = ?'),
    updateWire: run(db, 'UPDATE signals SET wire = ? WHERE id = ?'),
    insertPerson: run(
      db,
      'INSERT INTO signal_people (tenant_id, key, signal_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    ),
  };
}
