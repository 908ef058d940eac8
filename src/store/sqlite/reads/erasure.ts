import type { Database } from 'better-sqlite3';
import { mentionHint, mentionPattern, mentionsInJson } from '../../../model/mentions.ts';
import type { ErasureStore, FoundMentions, MentionScan, Mentions } from '../../erasure-store.ts';
import type { Part } from '../table.ts';

/** The searched parts of a signal or lead: JSON texts, and other texts as one JSON list. */
interface MentionRow {
  place: number | string;
  id: string;
  json: string;
}

/** Finds data that names a person to be erased. */
export function erasureReads(db: Database) {
  const selectEvents = db.prepare<
    Record<string, unknown>[],
    { id: string; created_at: number; data: string | null }
  >(
    `SELECT id, created_at, CASE WHEN type NOT LIKE 'signal.%' THEN data END AS data FROM events
     WHERE tenant_id = :tenantId AND (created_at, id) > (:createdAt, :id) ORDER BY created_at, id LIMIT :limit`,
  );
  // A `seq` exceeds the integers that a double represents exactly.
  const selectSignals = db.prepare<[string, bigint, number], MentionRow>(
    `SELECT CAST(s.seq AS TEXT) AS place, s.id,
            json_array(json(s.wire), json(s.explanation), s.text, s.canonical_url, f.reason,
                       (SELECT json_group_array(json_array(p.external_id, p.canonical_url))
                        FROM signal_places p WHERE p.signal_id = s.id)) AS json
     FROM signals s LEFT JOIN signal_feedback f ON f.signal_id = s.id
     WHERE s.tenant_id = ? AND s.seq > ? ORDER BY s.seq LIMIT ?`,
  );
  const selectLeads = db.prepare<[string, bigint, number], MentionRow>(
    `SELECT l.rowid AS place, l.id,
            json_array(l.wire ->> '$.source', l.wire -> '$.tags', l.wire -> '$.custom_fields', l.wire ->> '$.notes',
                       l.wire ->> '$.next_step.text',
                       (SELECT json_group_array(m.reason) FROM stage_moves m WHERE m.lead_id = l.id)) AS json
     FROM leads l INDEXED BY leads_in_order WHERE l.tenant_id = ? AND l.rowid > ? ORDER BY l.rowid LIMIT ?`,
  );

  function found(rows: MentionRow[], { mentions, limit }: MentionScan): FoundMentions {
    const mentioned = createMentionTest(mentions);
    const last = rows.at(-1);
    return {
      ids: rows.filter(({ json }) => mentioned(json)).map(({ id }) => id),
      last: last === undefined || rows.length < limit ? null : [last.place],
    };
  }

  return {
    findEventsNaming({ tenantId, texts, names, signalIds, after, limit }) {
      const [createdAt = -1, id = ''] = after ?? [];
      const rows = selectEvents.all({ tenantId, createdAt, id, limit });
      const last = rows.at(-1);
      const identified = createNameTest(texts, signalIds);
      const named = createMentionTest({ texts: [], names });
      const ids: string[] = [];
      const namedIds: string[] = [];
      for (const row of rows) {
        if (row.data === null) continue;
        if (identified(row.data)) ids.push(row.id);
        else if (named(row.data)) namedIds.push(row.id);
      }
      return {
        ids,
        named: namedIds,
        last: last === undefined || rows.length < limit ? null : [last.created_at, last.id],
      };
    },
    findSignalsNaming: (scan) => found(selectSignals.all(scan.tenantId, placeOf(scan), scan.limit), scan),
    findLeadsNaming: (scan) => found(selectLeads.all(scan.tenantId, placeOf(scan), scan.limit), scan),
  } satisfies Part<ErasureStore>;
}

const placeOf = ({ after }: MentionScan) => BigInt(after?.[0] ?? -1);

/** Tests whether a string in a JSON text mentions the person. */
function createMentionTest({ texts, names }: Mentions): (json: string) => boolean {
  const hint = mentionHint(texts, names);
  const pattern = mentionPattern(texts, names);
  return (json) => hint !== null && pattern !== null && hint.test(json) && mentionsInJson(json, pattern);
}

/**
 * Tests whether a JSON text contains any of them; a person may have thousands of signals, so their IDs are looked up
 * in a set.
 */
function createNameTest(texts: string[], signalIds: readonly string[]): (json: string) => boolean {
  const mentioned = createMentionTest({ texts, names: [] });
  const ids = new Set(signalIds);
  return (json) => Array.from(json.matchAll(/sig_[0-9a-z]+/g)).some(([id]) => ids.has(id)) || mentioned(json);
}
