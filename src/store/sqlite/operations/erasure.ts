import type { Database } from 'better-sqlite3';
import type { LeadErasure } from '../../erasure-store.ts';
import { createErasureSql } from '../tables/erasure.ts';
import { createIdempotencySql } from '../tables/idempotency.ts';
import { createLeadSignalSql } from '../tables/lead-signals.ts';
import { createLeadSql } from '../tables/leads.ts';
import { createMentionSql } from '../tables/mentions.ts';
import { createSignalPeopleSql } from '../tables/signal-people.ts';
import { createStageMoveSql } from '../tables/stage-moves.ts';
import { createRecipientEraser } from './campaigns.ts';

export function erasureOperations(db: Database) {
  const leads = createLeadSql(db);
  const leadSignals = createLeadSignalSql(db);
  const people = createSignalPeopleSql(db);
  const moves = createStageMoveSql(db);
  const erasure = createErasureSql(db);
  const mentions = createMentionSql(db);
  const answers = createIdempotencySql(db);
  const eraseRecipient = createRecipientEraser(db);

  /** Whether the person still has the lead as it was found, and no signal but those that were found. */
  function holds({ tenantId, leadId, expectedVersion, keys, signals }: LeadErasure): boolean {
    const found = new Set(signals.map(({ id }) => id));
    return (
      leads.version(tenantId, leadId) === expectedVersion &&
      leadSignals.ofPerson(tenantId, keys).every(({ id }) => found.has(id))
    );
  }

  function erase(change: LeadErasure): string[] {
    const { tenantId, leadId, keys, signals, eventIds, texts } = change;
    leadSignals.letGo(leadId);
    signals.forEach(erasure.eraseSignal);
    people.forget(tenantId, keys);
    const about = erasure.eventsAbout([leadId, ...signals.map(({ id }) => id)]);
    const told = eraseRecipient(tenantId, [leadId, ...keys]);
    const silenced = erasure.eraseEvents(tenantId, [...about, ...told, ...eventIds]);
    const masked = mentions.mask(tenantId, change.mentions);
    masked.deliveryIds.forEach(erasure.emptyReplies);
    const endpointIds = new Set([...silenced, ...masked.endpointIds]);
    erasure.renewEndpoints(endpointIds);
    answers.forgetHolding(tenantId, texts);
    moves.removeOf(leadId);
    leads.remove(leadId);
    return [...endpointIds];
  }

  /** Overwrites the pages that become free as well, which FAST, the setting of every other change, leaves to their reuse. */
  function thoroughly<T>(erase: () => T): T {
    db.pragma('secure_delete = ON');
    try {
      return erase();
    } finally {
      db.pragma('secure_delete = FAST');
    }
  }

  return {
    eraseLead: (change: LeadErasure): string[] | null =>
      holds(change) ? thoroughly(() => erase(change)) : null,
  };
}
