import type { Lead } from '../../../model/lead.ts';
import { mentionHint, mentionPattern, mentionsInJson } from '../../../model/mentions.ts';
import type { ErasureStore, FoundMentions, MentionScan, Mentions } from '../../erasure-store.ts';
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
  reasons: string[];
}

/** Finds data that names a person to be erased. */
export function erasureReads(db: Connection) {
  const selectEvents = rows<
    [Record<string, unknown>],
    { id: string; created_at: number; data: string | null }
  >(
    db,
    `SELECT id, created_at, CASE WHEN type NOT LIKE 'signal.%' THEN data END AS data FROM events
     WHERE tenant_id = :tenantId AND (created_at, id) > (:createdAt, :id) ORDER BY created_at, id LIMIT :limit`,
  );
  const selectSignals = rows<[string, string, number], SignalRow>(
    db,
    `SELECT s.seq::text AS place, s.id, s.wire, s.explanation, ARRAY[s.text, s.canonical_url, f.reason] AS texts,
            ARRAY(SELECT unnest(ARRAY[p.external_id, p.canonical_url])
                  FROM signal_places p WHERE p.signal_id = s.id) AS places
     FROM signals s LEFT JOIN signal_feedback f ON f.signal_id = s.id
     WHERE s.tenant_id = ? AND s.seq > ?::bigint ORDER BY s.seq LIMIT ?`,
  );
  const selectLeads = rows<[string, string, number], LeadRow>(
    db,
    `SELECT l.place, l.id, l.wire, ARRAY(SELECT m.reason FROM stage_moves m WHERE m.lead_id = l.id) AS reasons
     FROM leads l WHERE l.tenant_id = ? AND l.place > ?::bigint ORDER BY l.place LIMIT ?`,
  );

  return {
    async findEventsNaming({ tenantId, texts, names, signalIds, after, limit }) {
      const [createdAt = -1, id = ''] = after ?? [];
      const found = await selectEvents({ tenantId, createdAt, id, limit });
      const last = found.at(-1);
      const identified = createNameTest(texts, signalIds);
      const named = createMentionTest({ texts: [], names });
      const ids: string[] = [];
      const namedIds: string[] = [];
      for (const row of found) {
        if (row.data === null) continue;
        if (identified(row.data)) ids.push(row.id);
        else if (named(row.data)) namedIds.push(row.id);
      }
      return {
        ids,
        named: namedIds,
        last: last === undefined || found.length < limit ? null : [last.created_at, last.id],
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
    findLeadsNaming: async (scan) =>
      mentionsIn(
        (await selectLeads(scan.tenantId, placeOf(scan), scan.limit)).map(({ place, id, wire, reasons }) => {
          const { source, tags, custom_fields, notes, next_step } = JSON.parse(wire) as Lead;
          return {
            place,
            id,
            json: JSON.stringify([source, tags, custom_fields, notes, next_step?.text, reasons]),
          };
        }),
        scan,
      ),
  } satisfies Partial<ErasureStore>;
}

const placeOf = ({ after }: MentionScan) => String(after?.[0] ?? -1);

function mentionsIn(found: MentionRow[], { mentions, limit }: MentionScan): FoundMentions {
  const mentioned = createMentionTest(mentions);
  const last = found.at(-1);
  return {
    ids: found.filter(({ json }) => mentioned(json)).map(({ id }) => id),
    last: last === undefined || found.length < limit ? null : [last.place],
  };
}

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
