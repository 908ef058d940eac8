import type { Lead } from '../../../model/lead.ts';
import {
  type ErasureStore,
  type FoundMentions,
  type MentionScan,
  SCANNED_CHARACTERS,
} from '../../erasure-store.ts';
import { createMentionTests, sortEvents } from '../../mention-tests.ts';
import type { Connection } from '../connection.ts';
import { rows } from '../sql/prepared.ts';

/** The searched parts of a signal or lead, as JSON. */
interface MentionRow {
  place: string | number;
  id: string;
  json: string;
}

interface SignalRow {
  place: string;
  id: string;
  wire: string;
  explanation: string;
  texts: (string | null)[];
  places: (string | null)[];
}

interface LeadRow {
  place: number;
  id: string;
  wire: string;
  is_moved: boolean;
}

/** Finds data that names a person to be erased. */
export function erasureReads(db: Connection) {
  const selectEvents = rows<
    [Record<string, unknown>],
    { id: string; created_at: number; data: string | null }
  >(
    db,
    `SELECT id, created_at, data FROM (
       SELECT id, created_at, data, sum(octet_length(data)) OVER (ORDER BY created_at, id) - octet_length(data) AS before
       FROM (SELECT id, created_at, CASE WHEN type NOT LIKE 'signal.%' THEN data END AS data FROM events
             WHERE tenant_id = :tenantId AND (created_at, id) > (:createdAt, :id)
             ORDER BY created_at, id LIMIT :limit) AS range) AS measured
     WHERE coalesce(before, 0) < ${SCANNED_CHARACTERS} ORDER BY created_at, id`,
  );
  const selectSignals = rows<[string, string, number], SignalRow>(
    db,
    `SELECT s.seq::text AS place, s.id, s.wire, s.explanation, ARRAY[s.text, s.canonical_url, f.reason] AS texts,
            ARRAY(SELECT unnest(ARRAY[p.external_id, p.canonical_url])
                  FROM signal_places p WHERE p.signal_id = s.id) AS places
     FROM (SELECT *, sum(bytes) OVER (ORDER BY seq) - bytes AS before
           FROM (SELECT seq, id, wire, explanation, text, canonical_url,
                        octet_length(wire) + octet_length(explanation) + octet_length(text) AS bytes
                 FROM signals WHERE tenant_id = ? AND seq > ?::bigint ORDER BY seq LIMIT ?) AS range) AS s
     LEFT JOIN signal_feedback f ON f.signal_id = s.id
     WHERE s.before < ${SCANNED_CHARACTERS} ORDER BY s.seq`,
  );
  const selectLeads = rows<[string, string, number], LeadRow>(
    db,
    `SELECT l.place, l.id, l.wire,
            EXISTS (SELECT 1 FROM stage_moves m WHERE m.lead_id = l.id AND m.reason <> '') AS is_moved
     FROM (SELECT *, sum(octet_length(wire)) OVER (ORDER BY place) - octet_length(wire) AS before
           FROM (SELECT place, id, wire FROM leads
                 WHERE tenant_id = ? AND place > ?::bigint ORDER BY place LIMIT ?) AS range) AS l
     WHERE l.before < ${SCANNED_CHARACTERS} ORDER BY l.place`,
  );
  const testOf = createMentionTests();

  function mentionsIn(found: MentionRow[], { mentions }: MentionScan): FoundMentions {
    const mentioned = testOf(mentions).named;
    const last = found.at(-1);
    return {
      ids: found.filter(({ json }) => mentioned(json)).map(({ id }) => id),
      last: last === undefined ? null : [last.place],
    };
  }

  return {
    async findEventsNaming({ tenantId, mentions, after, limit }) {
      const [createdAt = -1, id = ''] = after ?? [];
      const found = await selectEvents({ tenantId, createdAt, id, limit });
      const last = found.at(-1);
      return {
        ...sortEvents(found, testOf(mentions)),
        last: last === undefined ? null : [last.created_at, last.id],
      };
    },
    findSignalsNaming: async (scan) =>
      mentionsIn(
        (await selectSignals(scan.tenantId, placeOf(scan), scan.limit)).map(
          ({ place, id, wire, explanation, texts, places }) => ({
            place,
            id,
            json: `[${wire},${explanation},${JSON.stringify([...texts, ...places])}]`,
          }),
        ),
        scan,
      ),
    async findLeadsNaming(scan) {
      const found = await selectLeads(scan.tenantId, placeOf(scan), scan.limit);
      const { ids, last } = mentionsIn(
        found.map(({ place, id, wire }) => {
          const { source, tags, custom_fields, notes, next_step } = JSON.parse(wire) as Lead;
          return { place, id, json: JSON.stringify([source, tags, custom_fields, notes, next_step?.text]) };
        }),
        scan,
      );
      const named = new Set(ids);
      const moved = found.filter(({ id, is_moved }) => is_moved && !named.has(id));
      return { ids, moved: moved.map(({ id }) => id), last };
    },
  } satisfies Partial<ErasureStore>;
}

const placeOf = ({ after }: MentionScan) => String(after?.[0] ?? -1);
