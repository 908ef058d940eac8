import type { LeadStore } from '../../lead-store.ts';
import type { Context } from '../context.ts';
import { createBoardSql } from '../tables/board.ts';
import { createLeadListSql } from '../tables/lead-list.ts';
import { createLeadSignalSql } from '../tables/lead-signals.ts';
import { createLeadSql } from '../tables/leads.ts';
import { createSignalSql } from '../tables/signals.ts';
import { createStageMoveSql } from '../tables/stage-moves.ts';

export function leadMethods({ db, writer, read }: Context) {
  const leads = createLeadSql(db);
  const listLeads = createLeadListSql(db);
  const leadSignals = createLeadSignalSql(db);
  const signals = createSignalSql(db);
  const moves = createStageMoveSql(db);
  const readBoard = createBoardSql(db);

  return {
    getLead: (tenantId, id) => read(() => leads.get(tenantId, id)),
    listLeads: (tenantId, query) => read(() => listLeads(tenantId, query)),
    findIdentities: (tenantId, keys) => read(() => keys.map((key) => leads.holder(tenantId, key))),
    findLeadSignals: (tenantId, ids) => read(() => leadSignals.some(tenantId, ids)),
    findSignalsOfPerson: (tenantId, keys) => read(() => leadSignals.ofPerson(tenantId, keys)),
    findKnownSignals: (posts) => read(() => posts.map(signals.known)),
    listSignalsOfLead: (leadId, limit) => read(() => leadSignals.best(leadId, limit)),
    listPersonalSignals: (leadId) => read(() => leadSignals.all(leadId)),
    commitLead: (change) => writer.run('commitLead', change),
    readBoard: (tenantId, limit) => read(() => readBoard(tenantId, limit)),
    listStageMoves: (leadId, { before, limit }) => read(() => moves.page(leadId, before, limit)),
  } satisfies LeadStore;
}
