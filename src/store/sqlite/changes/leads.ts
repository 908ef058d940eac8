import type { Database } from 'better-sqlite3';
import type { LeadChange, LeadStore } from '../../lead-store.ts';
import type { Part } from '../../store.ts';
import type { FindKnownSignal } from '../reads/known-signals.ts';
import { leadReads } from '../reads/leads.ts';
import { createEventWriter } from './events.ts';
import { createLeadRow } from './lead-row.ts';
import { createLeadSignals } from './lead-signals.ts';
import type { SignalWriter } from './signals.ts';

export function leadChanges(
  db: Database,
  { findKnown, writeSignal }: { findKnown: FindKnownSignal; writeSignal: SignalWriter },
) {
  const insertMove = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO stage_moves
       (lead_id, position, previous, current, reason, actor_id, actor_name, moved_at, stayed_ms)
     SELECT :leadId, ifnull(max(position), 0) + 1, :previous, :current, :reason, :actorId, :actorName, :movedAt, :stayedMs
     FROM stage_moves WHERE lead_id = :leadId`,
  );
  const forgetDays = db.prepare<[string]>('DELETE FROM enrichment_days WHERE day < ?');
  const countDay = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO enrichment_days (day, asked) VALUES (:day, 1)
     ON CONFLICT (day) DO UPDATE SET asked = asked + 1 WHERE asked < :limit`,
  );
  const { getLead, findIdentities } = leadReads(db);
  const leadRow = createLeadRow(db);
  const leadSignals = createLeadSignals(db);
  const insertRouted = createEventWriter(db);

  /** Whether all that the change was decided on is still so. Asked before anything is written. */
  function holds({ tenantId, lead, expectedVersion, seen, newSignals, attach }: LeadChange): boolean {
    const holders = findIdentities(
      tenantId,
      seen.map(({ key }) => key),
    );
    return (
      (getLead(tenantId, lead.id)?.version ?? 0) === expectedVersion &&
      seen.every(({ leadId }, index) => holders[index]?.leadId === leadId) &&
      newSignals.every((signal) => findKnown(signal) === null) &&
      attach.every((signalId) => leadSignals.isFree(tenantId, signalId))
    );
  }

  return {
    countEnrichment(day, limit) {
      forgetDays.run(day);
      return countDay.run({ day, limit }).changes === 1;
    },
    commitLead(change) {
      if (!holds(change)) return false;
      const { tenantId, lead, keys, newSignals, attach, move, events } = change;
      newSignals.forEach(writeSignal);
      if (change.expectedVersion === 0) leadRow.insert(tenantId, lead);
      else leadRow.update(lead);
      if (keys !== null) leadRow.setIdentities(tenantId, lead.id, keys);
      leadRow.setTags(tenantId, lead);
      leadRow.setWords(tenantId, lead);
      for (const id of [...newSignals.map((signal) => signal.id), ...attach]) leadSignals.attach(lead.id, id);
      if (move !== null) {
        const { actor, ...columns } = move;
        insertMove.run({ ...columns, leadId: lead.id, actorId: actor.id, actorName: actor.name });
      }
      events.forEach(insertRouted);
      return true;
    },
  } satisfies Part<LeadStore>;
}
