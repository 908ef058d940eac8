import type { Database } from 'better-sqlite3';
import type { Stage } from '../../../model/pipeline.ts';
import type { NewStageMove, StageMoveRow } from '../../lead-store.ts';

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

/** The history of each lead's moves through the pipeline. */
export function createStageMoveSql(db: Database) {
  const insert = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO stage_moves
       (lead_id, position, previous, current, reason, actor_id, actor_name, moved_at, stayed_ms)
     SELECT :leadId, ifnull(max(position), 0) + 1, :previous, :current, :reason, :actorId, :actorName, :movedAt, :stayedMs
     FROM stage_moves WHERE lead_id = :leadId`,
  );
  const selectPage = db.prepare<[string, number, number], MoveRow>(
    'SELECT * FROM stage_moves WHERE lead_id = ? AND position < ? ORDER BY position DESC LIMIT ?',
  );
  const remove = db.prepare<[string]>('DELETE FROM stage_moves WHERE lead_id = ?');

  return {
    insert(leadId: string, { actor, ...move }: NewStageMove): void {
      insert.run({ ...move, leadId, actorId: actor.id, actorName: actor.name });
    },
    page: (leadId: string, before: number | null, limit: number): StageMoveRow[] =>
      selectPage.all(leadId, before ?? Number.MAX_SAFE_INTEGER, limit).map(toMove),
    removeOf(leadId: string): void {
      remove.run(leadId);
    },
  };
}
