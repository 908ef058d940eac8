import type { Database } from 'better-sqlite3';
import type { Lead } from '../../../model/lead.ts';
import type { Stage } from '../../../model/pipeline.ts';
import type { LeadStore, StageMoveRow } from '../../lead-store.ts';
import type { Part } from '../../store.ts';
import { createLeadList } from './lead-list.ts';

interface LeadRow {
  wire: string;
  version: number;
}

/** Leads and their history; which signals are theirs is in `lead-signals.ts`. */
export function leadReads(db: Database) {
  const selectOne = db.prepare<[string, string], LeadRow>(
    'SELECT wire, version FROM leads WHERE id = ? AND tenant_id = ?',
  );
  const selectHolder = db
    .prepare<[string, string], string>('SELECT lead_id FROM lead_identities WHERE tenant_id = ? AND key = ?')
    .pluck();
  const selectMoves = db.prepare<[string, number, number], MoveRow>(
    'SELECT * FROM stage_moves WHERE lead_id = ? AND position < ? ORDER BY position DESC LIMIT ?',
  );

  return {
    getLead(tenantId, id) {
      const row = selectOne.get(id, tenantId);
      return row === undefined ? null : { lead: JSON.parse(row.wire) as Lead, version: row.version };
    },
    listLeads: createLeadList(db),
    findIdentities: (tenantId, keys) =>
      keys.map((key) => ({ key, leadId: selectHolder.get(tenantId, key) ?? null })),
    listStageMoves: (leadId, { before, limit }) =>
      selectMoves.all(leadId, before ?? Number.MAX_SAFE_INTEGER, limit).map(toMove),
  } satisfies Part<LeadStore>;
}

interface MoveRow {
  position: number;
  previous: string | null;
  current: string;
  reason: string;
  actor_id: string;
  actor_name: string;
  moved_at: number;
  stayed_ms: number | null;
}

function toMove(row: MoveRow): StageMoveRow {
  return {
    position: row.position,
    previous: row.previous as Stage | null,
    current: row.current as Stage,
    reason: row.reason,
    actor: { id: row.actor_id, name: row.actor_name },
    movedAt: row.moved_at,
    stayedMs: row.stayed_ms,
  };
}
