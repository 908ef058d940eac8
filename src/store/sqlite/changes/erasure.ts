import type { Database } from 'better-sqlite3';
import type { ErasureStore, LeadErasure } from '../../erasure-store.ts';
import type { Part } from '../../store.ts';
import { leadSignalReads } from '../reads/lead-signals.ts';
import { leadReads } from '../reads/leads.ts';
import type { WriteAheadLog } from '../write-ahead-log.ts';
import { createRecipients } from './campaign-recipients.ts';
import { createEventEraser } from './event-erasure.ts';
import { createAnswerEraser } from './idempotency.ts';
import { createKnownSignals } from './known-signals.ts';
import { createLeadRow } from './lead-row.ts';
import { createLeadSignals } from './lead-signals.ts';
import { createAnswerMask, createMentionMask } from './mentions.ts';
import { createSignalIndex } from './signal-index.ts';

export function erasureChanges(db: Database, log: WriteAheadLog) {
  const emptySignal = db.prepare<[string, string, string]>(
    `UPDATE signals SET wire = ?, explanation = ?, text = '', external_id = NULL, canonical_url = NULL WHERE id = ?`,
  );
  const emptyFeedback = db.prepare<[string]>("UPDATE signal_feedback SET reason = '' WHERE signal_id = ?");
  const forgetAuthor = db.prepare<[string, string]>(
    'DELETE FROM signal_people WHERE tenant_id = ? AND key = ?',
  );
  const { getLead } = leadReads(db);
  const { findSignalsOfPerson } = leadSignalReads(db);
  const index = createSignalIndex(db);
  const knownSignals = createKnownSignals(db);
  const leadRow = createLeadRow(db);
  const leadSignals = createLeadSignals(db);
  const events = createEventEraser(db);
  const recipients = createRecipients(db);
  const maskMentions = createMentionMask(db);
  const forgetAnswers = createAnswerEraser(db);
  const maskAnswers = createAnswerMask(db);

  /** Whether the person still has the lead as it was found, and no signal but those that were found. */
  function holds({ tenantId, leadId, expectedVersion, keys, signals }: LeadErasure): boolean {
    const found = new Set(signals.map(({ id }) => id));
    return (
      (getLead(tenantId, leadId)?.version ?? 0) === expectedVersion &&
      findSignalsOfPerson(tenantId, keys).every(({ id }) => found.has(id))
    );
  }

  function erase(change: LeadErasure): string[] {
    const { tenantId, leadId, keys, signals, eventIds, texts } = change;
    leadSignals.letGo(leadId);
    for (const { id, wire, explanation } of signals) {
      knownSignals.forget(id);
      index.renew(id, () => emptySignal.run(wire, explanation, id));
      emptyFeedback.run(id);
    }
    for (const key of keys) forgetAuthor.run(tenantId, key);
    const about = events.about([leadId, ...signals.map(({ id }) => id)]);
    const told = recipients.forget(tenantId, [leadId, ...keys]);
    const silenced = events.erase(tenantId, [...about, ...told, ...eventIds]);
    const masked = maskMentions(change);
    masked.deliveryIds.forEach(events.emptyReplies);
    const endpointIds = new Set([...silenced, ...masked.endpointIds]);
    events.renewEndpoints(endpointIds);
    forgetAnswers(tenantId, texts);
    maskAnswers(tenantId, change.mentions);
    leadRow.remove(leadId);
    log.emptyAfterCommit();
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
    eraseLead: (change) => (holds(change) ? thoroughly(() => erase(change)) : null),
  } satisfies Part<ErasureStore>;
}
