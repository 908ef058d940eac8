import type { Lead } from '../../../model/lead.ts';
import type { LeadSignal, LeadStore, PersonalSignal, StageMoveRow } from '../../lead-store.ts';
import { pageOf } from '../../pages.ts';
import type { Connection } from '../connection.ts';
import { row, rows, values } from '../sql/prepared.ts';
import { Table } from '../tables.ts';

const MOVES = new Table<Omit<StageMoveRow, 'actor'> & { actorId: string; actorName: string }>('stage_moves', {
  ...{ position: 'plain', previous: 'plain', current: 'plain', reason: 'plain', actorId: 'plain' },
  ...{ actorName: 'plain', movedAt: 'plain', stayedMs: 'plain' },
});

/** Leads and their history. */
export function leadReads(db: Connection) {
  const selectLead = row<[string, string], { wire: string; version: number }>(
    db,
    'SELECT wire, version FROM leads WHERE id = ? AND tenant_id = ?',
  );
  const selectHolders = rows<[string, readonly string[]], { key: string; leadId: string }>(
    db,
    'SELECT key, lead_id AS "leadId" FROM lead_identities WHERE tenant_id = ? AND key = ANY (?)',
  );
  const selectDue = values<[string, string, string, number], string>(
    db,
    'SELECT wire FROM leads WHERE tenant_id = ? AND next_due > ? AND next_due <= ? ORDER BY next_due, id LIMIT ?',
  );
  const selectMoves = MOVES.select<[string, number, number]>(
    db,
    'WHERE lead_id = ? AND position < ? ORDER BY position DESC LIMIT ?',
  );

  return {
    async getLead(tenantId, id) {
      const found = await selectLead(id, tenantId);
      return found === undefined ? null : { lead: JSON.parse(found.wire) as Lead, version: found.version };
    },
    async findIdentities(tenantId, keys) {
      const found = keys.length === 0 ? [] : await selectHolders(tenantId, keys);
      const holders = new Map(found.map(({ key, leadId }) => [key, leadId]));
      return keys.map((key) => ({ key, leadId: holders.get(key) ?? null }));
    },
    listDueSteps: (tenantId, { after = '', until, limit }) => selectDue(tenantId, after, until, limit),
    async pageStageMoves(leadId, { limit, after }) {
      const before = Number(after?.[0] ?? Number.MAX_SAFE_INTEGER);
      return pageOf(await selectMoves.all(leadId, before, limit + 1), limit, {
        toRow: ({ actorId, actorName, ...move }) => ({ ...move, actor: { id: actorId, name: actorName } }),
        position: ({ position }) => [position],
      });
    },
  } satisfies Partial<LeadStore>;
}

/** A signal as it is somebody's: all keys of its author, those of its other places included. */
const PERSONAL = `s.id, l.lead_id AS "leadId", s.wire,
  ARRAY(SELECT key FROM signal_people WHERE signal_id = s.id ORDER BY tenant_id, key) AS keys`;

/** Which signals are whose: of a lead, and of a person before there is one. */
export function leadSignalReads(db: Connection) {
  const selectSome = rows<[readonly string[], string], PersonalSignal>(
    db,
    `SELECT ${PERSONAL} FROM signals s LEFT JOIN lead_signals l ON l.signal_id = s.id
     WHERE s.id = ANY (?) AND s.tenant_id = ?`,
  );
  const selectOfPerson = rows<[string, readonly string[]], PersonalSignal>(
    db,
    `SELECT ${PERSONAL}, s.explanation FROM signals s LEFT JOIN lead_signals l ON l.signal_id = s.id
     WHERE s.id IN (SELECT signal_id FROM signal_people WHERE tenant_id = ? AND key = ANY (?))
     ORDER BY s.timestamp DESC, s.id`,
  );
  const selectFree = rows<[string, readonly string[], number], LeadSignal>(
    db,
    `SELECT s.id, NULL AS "leadId", s.wire FROM signals s
     WHERE s.id IN (SELECT signal_id FROM signal_people WHERE tenant_id = ? AND key = ANY (?))
       AND NOT EXISTS (SELECT 1 FROM lead_signals l WHERE l.signal_id = s.id)
     ORDER BY s.timestamp DESC, s.id LIMIT ?`,
  );
  const selectBest = rows<[string, number], { wire: string; explanation: string }>(
    db,
    `SELECT s.wire, s.explanation FROM lead_signals l JOIN signals s ON s.id = l.signal_id
     WHERE l.lead_id = ? ORDER BY s.score DESC, s.timestamp DESC, s.id LIMIT ?`,
  );
  const selectAll = rows<[string], PersonalSignal>(
    db,
    `SELECT ${PERSONAL}, s.explanation FROM lead_signals l JOIN signals s ON s.id = l.signal_id WHERE l.lead_id = ? ORDER BY s.id`,
  );

  return {
    findLeadSignals: (tenantId, ids) => selectSome(ids, tenantId),
    findSignalsOfPerson: selectOfPerson,
    findFreeSignalsOfPerson: selectFree,
    async listSignalsOfLead(leadId, limit) {
      const best = await selectBest(leadId, limit);
      return best.map(({ wire, explanation }) => `${wire.slice(0, -1)},"explanation":${explanation}}`);
    },
    listPersonalSignals: selectAll,
  } satisfies Partial<LeadStore>;
}
