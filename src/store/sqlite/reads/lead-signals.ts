import type { Database } from 'better-sqlite3';
import type { Page } from '../../../model/filters.ts';
import type { LeadSignal, LeadStore, PersonalSignal } from '../../lead-store.ts';
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

/** Finds signals of a lead, and of a person without one. */
export function leadSignalReads(db: Database) {
  // CROSS: from the IDs to their rows; SQLite would scan all signals of the tenant instead.
  const selectSome = db.prepare<[string, string], PersonalSignalRow>(
    `SELECT s.id, l.lead_id, s.wire, ${KEYS} FROM json_each(?) j CROSS JOIN signals s ON s.id = j.value
     LEFT JOIN lead_signals l ON l.signal_id = s.id WHERE s.tenant_id = ?`,
  );
  const selectOfPerson = db.prepare<[string, string, string, number], PersonalSignalRow>(
    `SELECT s.id, l.lead_id, s.wire, ${KEYS}
     FROM signal_people p CROSS JOIN signals s ON s.id = p.signal_id LEFT JOIN lead_signals l ON l.signal_id = s.id
     WHERE p.tenant_id = ? AND p.key = ? AND p.signal_id > ? ORDER BY p.signal_id LIMIT ?`,
  );
  const selectOfLead = db.prepare<[string, string, number], PersonalSignalRow>(
    `SELECT s.id, l.lead_id, s.wire, ${KEYS} FROM lead_signals l CROSS JOIN signals s ON s.id = l.signal_id
     WHERE l.lead_id = ? AND l.signal_id > ? ORDER BY l.signal_id LIMIT ?`,
  );

  return {
    findLeadSignals: (tenantId, ids) => selectSome.all(JSON.stringify(ids), tenantId).map(toSignal),
    pageSignalsOfPerson: (tenantId, key, { limit, after }) =>
      pageById(selectOfPerson.all(tenantId, key, String(after?.[0] ?? ''), limit + 1), limit),
    pageSignalsOfLead: (leadId, { limit, after }) =>
      pageById(selectOfLead.all(leadId, String(after?.[0] ?? ''), limit + 1), limit),
  } satisfies Part<LeadStore>;
}

function pageById(found: PersonalSignalRow[], limit: number): Page<PersonalSignal> {
  return pageOf(found, limit, { toRow: toSignal, position: ({ id }) => [id] });
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
interface SignalPart<T> {
  found: T[];
  next: string | null;
}

/** Scans of all signals of a lead or a person, in parts of a bounded size. */
export function createLeadSignalScans(db: Database) {
  const selectEnd = db
    .prepare<[string, string, number], string>(
      'SELECT signal_id FROM lead_signals WHERE lead_id = ? AND signal_id > ? ORDER BY signal_id LIMIT 1 OFFSET ?',
    )
    .pluck();
  const selectBest = db.prepare<[string, string, string, number], RankedSignal>(
    `SELECT s.id, s.score, s.timestamp FROM lead_signals l CROSS JOIN signals s ON s.id = l.signal_id
     WHERE l.lead_id = ? AND l.signal_id > ? AND l.signal_id <= ?
     ORDER BY s.score DESC, s.timestamp DESC, s.id LIMIT ?`,
  );
  const selectText = db.prepare<[string], { wire: string; explanation: string }>(
    'SELECT wire, explanation FROM signals WHERE id = ?',
  );
  const selectPersonEnd = db
    .prepare<[string, string, string, number], string>(
      `SELECT signal_id FROM signal_people WHERE tenant_id = ? AND key = ? AND signal_id < ?
       ORDER BY signal_id DESC LIMIT 1 OFFSET ?`,
    )
    .pluck();
  const selectFree = db
    .prepare<[string, string, string, string, number], string>(
      `SELECT p.signal_id FROM signal_people p
       WHERE p.tenant_id = ? AND p.key = ? AND p.signal_id < ? AND p.signal_id >= ?
         AND NOT EXISTS (SELECT 1 FROM lead_signals l WHERE l.signal_id = p.signal_id)
       ORDER BY p.signal_id DESC LIMIT ?`,
    )
    .pluck();
  const selectFew = db.prepare<[string, string], LeadSignal>(
    `SELECT s.id, NULL AS leadId, s.wire FROM json_each(?) j CROSS JOIN signals s ON s.id = j.value
     WHERE s.tenant_id = ? ORDER BY s.timestamp DESC, s.id`,
  );

  return {
    /** The best of the next `scan` signals of a lead. */
    bestOfLead(
      leadId: string,
      after: string,
      { scan, limit }: { scan: number; limit: number },
    ): SignalPart<RankedSignal> {
      const next = selectEnd.get(leadId, after, scan - 1) ?? null;
      return { found: selectBest.all(leadId, after, next ?? LAST_ID, limit), next };
    },
    explained: (ids: readonly string[]): string[] =>
      ids
        .flatMap((id) => selectText.all(id))
        .map(({ wire, explanation }) => `${wire.slice(0, -1)},"explanation":${explanation}}`),
    /** The unattached ones of a person's next `scan` signals, newest first. */
    freeOfPerson(
      { tenantId, key, before = LAST_ID }: { tenantId: string; key: string; before?: string | undefined },
      { scan, limit }: { scan: number; limit: number },
    ): SignalPart<string> {
      const next = selectPersonEnd.get(tenantId, key, before, scan - 1) ?? null;
      return { found: selectFree.all(tenantId, key, before, next ?? '', limit), next };
    },
    freeSignals: (tenantId: string, ids: readonly string[]): LeadSignal[] =>
      selectFew.all(JSON.stringify(ids), tenantId),
  };
}
