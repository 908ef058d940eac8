import type { Database } from 'better-sqlite3';
import type { LeadChange } from '../../lead-store.ts';
import { createLeadSignalSql } from '../tables/lead-signals.ts';
import { createLeadSql } from '../tables/leads.ts';
import { createSignalSql } from '../tables/signals.ts';
import { createStageMoveSql } from '../tables/stage-moves.ts';
import { createEventWriter } from './events.ts';
import { createSignalWriter } from './signals.ts';

export function leadOperations(db: Database) {
  const leads = createLeadSql(db);
  const signals = createSignalSql(db);
  const leadSignals = createLeadSignalSql(db);
  const moves = createStageMoveSql(db);
  const writeSignal = createSignalWriter(db);
  const insertRouted = createEventWriter(db);

  /** Whether all that the change was decided on is still so. Asked before anything is written. */
  function holds({ tenantId, lead, expectedVersion, seen, newSignals, attach }: LeadChange): boolean {
    return (
      leads.version(tenantId, lead.id) === expectedVersion &&
      seen.every(({ key, leadId }) => leads.holder(tenantId, key).leadId === leadId) &&
      newSignals.every((signal) => signals.known(signal) === null) &&
      attach.every((signalId) => leadSignals.isFree(tenantId, signalId))
    );
  }

  return {
    commitLead(change: LeadChange): boolean {
      if (!holds(change)) return false;
      const { tenantId, lead, keys, newSignals, attach, move, events } = change;
      newSignals.forEach(writeSignal);
      if (change.expectedVersion === 0) leads.insert(tenantId, lead);
      else leads.update(lead);
      if (keys !== null) leads.setIdentities(tenantId, lead.id, keys);
      leads.setTags(tenantId, lead);
      leads.setWords(tenantId, lead);
      for (const { id } of newSignals) leadSignals.attach(lead.id, id);
      for (const id of attach) leadSignals.attach(lead.id, id);
      if (move !== null) moves.insert(lead.id, move);
      events.forEach(insertRouted);
      return true;
    },
  };
}
