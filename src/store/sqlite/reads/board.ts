import type { Database } from 'better-sqlite3';
import { STAGES, type Stage } from '../../../model/pipeline.ts';
import type { LeadStore } from '../../lead-store.ts';
import type { Part } from '../../store.ts';

interface SumRow {
  stage: string;
  currency: string | null;
  leads: number;
  amount: number;
}

const NEWEST_SQL = `WITH newest AS (
  SELECT id FROM leads INDEXED BY leads_by_time WHERE tenant_id = :tenantId AND created_at >= :since
  ORDER BY created_at DESC, id DESC LIMIT :leads)`;

/** A lead that was lost at once was new before. */
const FURTHEST_SQL = `${NEWEST_SQL}, reached AS (
  SELECT n.id, max(CASE m.current ${STAGES.map((stage, i) => `WHEN '${stage}' THEN ${stage === 'lost' ? 0 : i}`).join(' ')} END) AS place
  FROM newest n JOIN stage_moves m ON m.lead_id = n.id GROUP BY n.id)
SELECT place, count(*) AS leads FROM reached GROUP BY place`;

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

  const selectFurthest = db.prepare<Record<string, unknown>[], { place: number; leads: number }>(
    FURTHEST_SQL,
  );
  const selectStayed = db.prepare<Record<string, unknown>[], { stage: Stage; ms: number }>(
    `${NEWEST_SQL} SELECT m.previous AS stage, avg(m.stayed_ms) AS ms FROM newest n JOIN stage_moves m ON m.lead_id = n.id
     WHERE m.previous IS NOT NULL GROUP BY m.previous`,
  );

  return {
    readStageFlow(tenantId, { since, leads }) {
      const wanted = { tenantId, since, leads };
      const furthest = selectFurthest.all(wanted);
      return {
        leads: furthest.reduce((sum, row) => sum + row.leads, 0),
        furthest: Object.fromEntries(furthest.map((row) => [STAGES[row.place], row.leads])),
        stayed: Object.fromEntries(selectStayed.all(wanted).map(({ stage, ms }) => [stage, ms])),
      };
    },
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
