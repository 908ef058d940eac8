import type { Database } from 'better-sqlite3';
import { ofPlatform } from '../reads/signals.ts';
import { createEventEraser } from './event-erasure.ts';
import { createAnswerEraser } from './idempotency.ts';
import { createKnownSignals } from './known-signals.ts';
import { createLeadScore } from './lead-score.ts';
import { createSignalIndex } from './signal-index.ts';

/** Removing signals with what was said of them and what they are found by. The facts of companies stay. */
export function createSignalRemover(db: Database) {
  const selectOfPlatform = db
    .prepare<[string, string], string>(
      `${ofPlatform('s.id')} AND NOT EXISTS (SELECT 1 FROM lead_signals l WHERE l.signal_id = s.id)`,
    )
    .pluck();
  const selectOwn = db
    .prepare<[string, string], string>('SELECT id FROM signals WHERE id = ? AND tenant_id = ?')
    .pluck();
  const removeFeedback = db.prepare<[string]>('DELETE FROM signal_feedback WHERE signal_id = ?');
  const countIrrelevant = db.prepare<[string]>(
    `UPDATE sources SET items_relevant = items_relevant - 1
     WHERE id = (SELECT s.source_id FROM source_signals s JOIN signal_feedback f ON f.signal_id = s.signal_id AND f.relevant
                 WHERE s.signal_id = ?)`,
  );
  const removePeople = db.prepare<[string]>('DELETE FROM signal_people WHERE signal_id = ?');
  const leave = db
    .prepare<[string], string>('DELETE FROM lead_signals WHERE signal_id = ? RETURNING lead_id')
    .pluck();
  const remove = db.prepare<[string]>('DELETE FROM signals WHERE id = ?');
  const knownSignals = createKnownSignals(db);
  const index = createSignalIndex(db);
  const events = createEventEraser(db);
  const forgetAnswers = createAnswerEraser(db);
  const scoreLead = createLeadScore(db);

  function removeRow(id: string): void {
    removeFeedback.run(id);
    removePeople.run(id);
    knownSignals.forget(id);
    index.renew(id, () => remove.run(id));
  }

  return {
    /** A tenant's signals of a platform that have an external id, but for those of leads; how many. */
    removeOfPlatform(tenantId: string, platform: string): number {
      const ids = selectOfPlatform.all(tenantId, platform);
      ids.forEach(removeRow);
      return ids.length;
    },
    /**
     * One signal, with its events' data and the bodies of its deliveries. Its lead, if it has one, is scored by those
     * that are left. The endpoints whose waiting deliveries were discarded; null where there is no such signal.
     */
    removeOne(tenantId: string, id: string, now: number): string[] | null {
      if (selectOwn.get(id, tenantId) === undefined) return null;
      countIrrelevant.run(id);
      const leadId = leave.get(id);
      removeRow(id);
      if (leadId !== undefined) scoreLead(tenantId, leadId, now);
      const endpointIds = events.erase(tenantId, events.about([id]));
      events.renewEndpoints(endpointIds);
      forgetAnswers(tenantId, [id]);
      return endpointIds;
    },
  };
}
