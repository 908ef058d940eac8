import type { Database } from 'better-sqlite3';
import { STAGES } from '../../../model/pipeline.ts';
import type { LeadStore } from '../../lead-store.ts';
import type { Part } from '../../store.ts';

interface SumRow {
  stage: string;
  currency: string | null;
  leads: number;
  amount: number;
}

/** The pipeline's board, counted and summed in the index `leads_by_stage` alone. */
export function boardReads(db: Database) {
  // total(), not sum(): the largest amounts would overflow an integer, and a double holds what JSON can carry anyway.
  const selectSums = db.prepare<[string], SumRow>(
    `SELECT stage, deal_currency AS currency, count(*) AS leads, total(deal_amount) AS amount
     FROM leads INDEXED BY leads_by_stage WHERE tenant_id = ? GROUP BY stage, deal_currency ORDER BY currency`,
  );
  const selectNewest = db
    .prepare<[string, string, number], string>(
      `SELECT wire FROM leads INDEXED BY leads_by_stage WHERE tenant_id = ? AND stage = ?
       ORDER BY created_at DESC, id DESC LIMIT ?`,
    )
    .pluck();

  return {
    readBoard(tenantId, limit) {
      const sums = selectSums.all(tenantId);
      return STAGES.map((stage) => {
        const own = sums.filter((row) => row.stage === stage);
        return {
          stage,
          count: own.reduce((count, row) => count + row.leads, 0),
          value: own.flatMap(({ currency, amount, leads }) =>
            currency === null ? [] : [{ currency, amount_minor: amount, deals: leads }],
          ),
          leads: limit === 0 ? [] : selectNewest.all(tenantId, stage, limit),
        };
      });
    },
  } satisfies Part<LeadStore>;
}
