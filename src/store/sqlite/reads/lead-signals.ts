import type { Database } from 'better-sqlite3';
import { CLASSIFICATIONS } from '../../../model/constants.ts';
import type { LeadScore, LeadSignal, LeadStore, PersonalSignal } from '../../lead-store.ts';
import { pageOf } from '../../pages.ts';
import type { Part } from '../table.ts';

interface PersonalSignalRow {
  id: string;
  lead_id: string | null;
  wire: string;
  keys: string;
}

/** All keys of the author, including those from other places of the post. */
const KEYS = '(SELECT json_group_array(key) FROM signal_people WHERE signal_id = s.id) AS keys';

/** Signals of a lead, and of a person. */
export function leadSignalReads(db: Database) {
  const selectOfPerson = db.prepare<[string, string, string, number], PersonalSignalRow>(
    `SELECT s.id, l.lead_id, s.wire, ${KEYS}
     FROM signal_people p CROSS JOIN signals s ON s.id = p.signal_id LEFT JOIN lead_signals l ON l.signal_id = s.id
     WHERE p.tenant_id = ? AND p.key = ? AND p.signal_id > ? ORDER BY p.signal_id LIMIT ?`,
  );
  const selectOfLead = db.prepare<
    [string, number, string, number],
    PersonalSignalRow & { timestamp: number }
  >(
    `SELECT s.id, l.lead_id, l.timestamp, s.wire, ${KEYS} FROM lead_signals l CROSS JOIN signals s ON s.id = l.signal_id
     WHERE l.lead_id = ? AND (l.timestamp, l.signal_id) > (?, ?) ORDER BY l.timestamp, l.signal_id LIMIT ?`,
  );
  const selectBest = db.prepare<[string, string, number], RankedSignal>(
    `SELECT signal_id AS id, score, timestamp FROM lead_signals INDEXED BY lead_signals_by_score
     WHERE lead_id = ? AND classification = ? ORDER BY score DESC, timestamp DESC, signal_id LIMIT ?`,
  );
  const selectText = db.prepare<[string], { wire: string; explanation: string }>(
    'SELECT wire, explanation FROM signals WHERE id = ?',
  );

  const selectScore = db.prepare<[string], LeadScore>(
    'SELECT profile_id AS profileId, score FROM signals WHERE id = ?',
  );

  const bestOf = (leadId: string, limit: number) =>
    CLASSIFICATIONS.flatMap((classification) => selectBest.all(leadId, classification, limit))
      .sort(bestFirst)
      .slice(0, limit);

  return {
    pageSignalsOfPerson: (tenantId, key, { limit, after }) =>
      pageOf(selectOfPerson.all(tenantId, key, String(after?.[0] ?? ''), limit + 1), limit, {
        toRow: toSignal,
        position: ({ id }) => [id],
      }),
    pageSignalsOfLead(leadId, { limit, after }) {
      const [timestamp = 0, id = ''] = after ?? [];
      return pageOf(selectOfLead.all(leadId, Number(timestamp), String(id), limit + 1), limit, {
        toRow: toSignal,
        position: ({ timestamp, id }) => [timestamp, id],
      });
    },
    listSignalsOfLead: (leadId, limit) =>
      bestOf(leadId, limit)
        .flatMap(({ id }) => selectText.all(id))
        .map(({ wire, explanation }) => `${wire.slice(0, -1)},"explanation":${explanation}}`),
    listScoresOfLead: (leadId, limit) => bestOf(leadId, limit).flatMap(({ id }) => selectScore.all(id)),
  } satisfies Part<LeadStore>;
}

function toSignal({ id, lead_id, wire, keys }: PersonalSignalRow): PersonalSignal {
  return { id, leadId: lead_id, wire, keys: JSON.parse(keys) as string[] };
}

/** A signal in a ranking. */
export interface RankedSignal {
  id: string;
  score: number;
  timestamp: number;
}

export function bestFirst(a: RankedSignal, b: RankedSignal): number {
  return b.score - a.score || b.timestamp - a.timestamp || (a.id < b.id ? -1 : 1);
}

/** Sorts after every ID. */
const LAST_ID = '~';

/** A part of a scan, and the ID where it ended; null: there are no others. */
interface SignalPart {
  found: string[];
  next: string | null;
}

/** Scans of all signals of a person, in parts of a bounded size. */
export function createPersonSignalScans(db: Database) {
  const selectPersonEnd = db
    .prepare<[string, string, string, number], string>(
      `SELECT signal_id FROM signal_people WHERE tenant_id = ? AND key = ? AND signal_id < ?
       ORDER BY signal_id DESC LIMIT 1 OFFSET ?`,
    )
    .pluck();
  const selectFreeOfPerson = db
    .prepare<[string, string, string, string, number], string>(
      `SELECT p.signal_id FROM signal_people p
       WHERE p.tenant_id = ? AND p.key = ? AND p.signal_id < ? AND p.signal_id >= ?
         AND NOT EXISTS (SELECT 1 FROM lead_signals l WHERE l.signal_id = p.signal_id)
       ORDER BY p.signal_id DESC LIMIT ?`,
    )
    .pluck();
  // CROSS: from the IDs to their rows; SQLite would scan all signals of the tenant instead.
  const selectOrder = db
    .prepare<[string, string], string>(
      `SELECT s.id FROM json_each(?) j CROSS JOIN signals s ON s.id = j.value
       WHERE s.tenant_id = ? ORDER BY s.timestamp DESC, s.id`,
    )
    .pluck();
  const selectFree = db.prepare<[string], LeadSignal>(
    'SELECT id, NULL AS leadId, wire FROM signals WHERE id = ?',
  );
  // A lead that is being erased is ignored.
  const selectOne = db.prepare<[string, string], LeadSignal>(
    `SELECT s.id, d.id AS leadId, s.wire FROM signals s
     LEFT JOIN lead_signals l ON l.signal_id = s.id LEFT JOIN leads d ON d.id = l.lead_id WHERE s.id = ? AND s.tenant_id = ?`,
  );

  return {
    /** The unattached ones of a person's next `scan` signals, newest first. */
    freeOfPerson(
      { tenantId, key, before = LAST_ID }: { tenantId: string; key: string; before?: string | undefined },
      { scan, limit }: { scan: number; limit: number },
    ): SignalPart {
      const next = selectPersonEnd.get(tenantId, key, before, scan - 1) ?? null;
      return { found: selectFreeOfPerson.all(tenantId, key, before, next ?? '', limit), next };
    },
    newestFirst: (tenantId: string, ids: readonly string[]): string[] =>
      selectOrder.all(JSON.stringify(ids), tenantId),
    free: (id: string): LeadSignal | null => selectFree.get(id) ?? null,
    one: (tenantId: string, id: string): LeadSignal | null => selectOne.get(id, tenantId) ?? null,
  };
}
