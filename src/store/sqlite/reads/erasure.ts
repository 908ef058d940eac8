import type { Database } from 'better-sqlite3';
import {
  type ErasureStore,
  type FoundMentions,
  type MentionScan,
  SCANNED_CHARACTERS,
} from '../../erasure-store.ts';
import { createMentionTests, sortEvents } from '../../mention-tests.ts';
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
  const selectLeads = db.prepare<[string, bigint, number], MentionRow & { isMoved: number }>(
    `SELECT l.rowid AS place, l.id,
            EXISTS (SELECT 1 FROM stage_moves m WHERE m.lead_id = l.id AND m.reason <> '') AS isMoved,
            json_array(l.wire ->> '$.source', l.wire -> '$.tags', l.wire -> '$.custom_fields', l.wire ->> '$.notes',
                       l.wire ->> '$.next_step.text') AS json
     FROM leads l INDEXED BY leads_in_order WHERE l.tenant_id = ? AND l.rowid > ? ORDER BY l.rowid LIMIT ?`,
  );

  const testOf = createMentionTests();

  function found(scanned: readonly MentionRow[], { mentions }: MentionScan): FoundMentions {
    const mentioned = testOf(mentions).named;
    const last = scanned.at(-1);
    return {
      ids: scanned.filter(({ json }) => mentioned(json)).map(({ id }) => id),
      last: last === undefined ? null : [last.place],
    };
  }

  return {
    findEventsNaming({ tenantId, mentions, after, limit }) {
      const [createdAt = -1, id = ''] = after ?? [];
      const rows = selectEvents.iterate({ tenantId, createdAt, id, limit });
      const scanned = firstOf(rows, ({ data }) => data?.length ?? 0);
      const last = scanned.at(-1);
      return {
        ...sortEvents(scanned, testOf(mentions)),
        last: last === undefined ? null : [last.created_at, last.id],
      };
    },
    findSignalsNaming(scan) {
      const rows = selectSignals.iterate(scan.tenantId, placeOf(scan), scan.limit);
      return found(
        firstOf(rows, ({ json }) => json.length),
        scan,
      );
    },
    findLeadsNaming(scan) {
      const rows = selectLeads.iterate(scan.tenantId, placeOf(scan), scan.limit);
      const scanned = firstOf(rows, ({ json }) => json.length);
      const { ids, last } = found(scanned, scan);
      const named = new Set(ids);
      const moved = scanned.filter(({ id, isMoved }) => isMoved === 1 && !named.has(id));
      return { ids, moved: moved.map(({ id }) => id), last };
    },
  } satisfies Part<ErasureStore>;
}

/** Stops reading after {@link SCANNED_CHARACTERS}. */
function firstOf<Row>(rows: Iterable<Row>, lengthOf: (row: Row) => number): Row[] {
  const first: Row[] = [];
  let characters = 0;
  for (const row of rows) {
    first.push(row);
    characters += lengthOf(row);
    if (characters >= SCANNED_CHARACTERS) break;
  }
  return first;
}

const placeOf = ({ after }: MentionScan) => BigInt(after?.[0] ?? -1);
