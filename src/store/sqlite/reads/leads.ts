import type { Database } from 'better-sqlite3';
import type { Lead } from '../../../model/lead.ts';
import type { LeadStore, StageMoveRow } from '../../lead-store.ts';
import type { Part } from '../../store.ts';
import { Table } from '../table.ts';
import { createLeadList } from './lead-list.ts';
import { pageOf } from './pages.ts';

const LEADS = new Table<{ wire: Lead; version: number }>('leads', { wire: 'json', version: 'plain' });

const MOVES = new Table<Omit<StageMoveRow, 'actor'> & { actorId: string; actorName: string }>('stage_moves', {
  position: 'plain',
  previous: 'plain',
  current: 'plain',
  reason: 'plain',
  actorId: 'plain',
  actorName: 'plain',
  movedAt: 'plain',
  stayedMs: 'plain',
});

/** Leads and their history; which signals are theirs is in `lead-signals.ts`. */
export function leadReads(db: Database) {
  const selectOne = LEADS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  const selectDue = db
    .prepare<[string, string, number], string>(
      `SELECT wire FROM leads INDEXED BY leads_by_next_due
       WHERE tenant_id = ? AND next_due IS NOT NULL AND next_due <= ? ORDER BY next_due, id LIMIT ?`,
    )
    .pluck();
  const selectHolder = db
    .prepare<[string, string], string>('SELECT lead_id FROM lead_identities WHERE tenant_id = ? AND key = ?')
    .pluck();
  const selectMoves = MOVES.select<[string, number, number]>(
    db,
    'WHERE lead_id = ? AND position < ? ORDER BY position DESC LIMIT ?',
  );

  return {
    getLead(tenantId, id) {
      const row = selectOne.get(id, tenantId);
      return row === null ? null : { lead: row.wire, version: row.version };
    },
    listLeads: createLeadList(db),
    findIdentities: (tenantId, keys) =>
      keys.map((key) => ({ key, leadId: selectHolder.get(tenantId, key) ?? null })),
    listDueSteps: (tenantId, { until, limit }) => selectDue.all(tenantId, until, limit),
    pageStageMoves: (leadId, { limit, after }) =>
      pageOf(selectMoves.all(leadId, Number(after?.[0] ?? Number.MAX_SAFE_INTEGER), limit + 1), limit, {
        toRow: ({ actorId, actorName, ...move }) => ({ ...move, actor: { id: actorId, name: actorName } }),
        position: ({ position }) => [position],
      }),
  } satisfies Part<LeadStore>;
}
