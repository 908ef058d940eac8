import type { Database } from 'better-sqlite3';
import { eraseSignal } from '../../../rules/erased-signal.ts';
import type { ErasureStore, LeadErasure, Mentions } from '../../erasure-store.ts';
import type { Part } from '../../store.ts';
import { leadReads } from '../reads/leads.ts';
import type { WriteAheadLog } from '../write-ahead-log.ts';
import { createRecipients } from './campaign-recipients.ts';
import { createEventEraser } from './event-erasure.ts';
import { createKnownSignals } from './known-signals.ts';
import { createLeadRow } from './lead-row.ts';
import { createLeadSignals } from './lead-signals.ts';
import { createAnswerEraser, createMentionMask } from './mentions.ts';
import { createSignalIndex } from './signal-index.ts';

/** What a step of an erasure does with its subject, which is the id of what its kind names. */
type StepKind =
  /** Of the person: emptied. An event's deliveries too. */
  | 'signal'
  | 'event'
  /** Was the lead's and is somebody else's: let go. */
  | 'attached'
  /** Mention the person: blacked out. */
  | 'naming_signal'
  | 'naming_lead'
  | 'naming_event'
  /** Kept answers from a place on, which is the subject, as JSON. */
  | 'answers';

interface Step {
  position: number;
  kind: StepKind;
  subject: string;
}

/** What is done of an erasure. */
interface Erasing {
  tenantId: string;
  leadId: string;
  texts: string[];
  mentions: Mentions;
}

/** What a step came to, and about how many characters were read and written for it. */
interface StepResult {
  endpointIds: readonly string[];
  cost: number;
}

/** Characters for one piece of an erasure: a long post's words leave the index in some 5 ms. */
const PIECE_COST = 60_000;
/** A statement costs at least as much as so many characters. */
const STATEMENT_COST = 400;
const STEPS_AT_ONCE = 200;

export function erasureChanges(db: Database, log: WriteAheadLog) {
  const { getLead } = leadReads(db);
  const selectSignalIds = db
    .prepare<[string, string], string>(
      `SELECT DISTINCT signal_id FROM signal_people
       WHERE tenant_id = ? AND key IN (SELECT value FROM json_each(?))`,
    )
    .pluck();
  const forgetAuthor = db.prepare<[string, string]>(
    'DELETE FROM signal_people WHERE tenant_id = ? AND key = ?',
  );
  const begin = db.prepare<[string, string, string, string]>(
    'INSERT INTO erasures (lead_id, tenant_id, texts, mentions) VALUES (?, ?, ?, ?)',
  );
  const select = db.prepare<[string, string], { texts: string; mentions: string }>(
    'SELECT texts, mentions FROM erasures WHERE lead_id = ? AND tenant_id = ?',
  );
  const selectAll = db.prepare<[number], { tenantId: string; leadId: string }>(
    'SELECT tenant_id AS tenantId, lead_id AS leadId FROM erasures LIMIT ?',
  );
  const end = db.prepare<[string]>('DELETE FROM erasures WHERE lead_id = ?');
  const addStep = db.prepare<[string, StepKind, string]>(
    'INSERT INTO erasure_steps (lead_id, kind, subject) VALUES (?, ?, ?)',
  );
  const selectSteps = db.prepare<[string, number], Step>(
    'SELECT position, kind, subject FROM erasure_steps WHERE lead_id = ? ORDER BY position LIMIT ?',
  );
  const removeStep = db.prepare<[number]>('DELETE FROM erasure_steps WHERE position = ?');
  const leadRow = createLeadRow(db);
  const leadSignals = createLeadSignals(db);
  const recipients = createRecipients(db);
  const events = createEventEraser(db);
  const runStep = createSteps(db, { events, leadSignals, addStep: (...step) => void addStep.run(...step) });

  /** Whether the person still has the lead as it was found, and no signal but those that were found. */
  function holds({ tenantId, leadId, expectedVersion, keys, signals }: LeadErasure): boolean {
    const found = new Set(signals);
    return (
      (getLead(tenantId, leadId)?.version ?? 0) === expectedVersion &&
      selectSignalIds.all(tenantId, JSON.stringify(keys)).every((id) => found.has(id))
    );
  }

  function start(erasure: LeadErasure): void {
    const { tenantId, leadId, keys, signals, eventIds, texts, mentions, mentioning } = erasure;
    begin.run(leadId, tenantId, JSON.stringify(texts), JSON.stringify(mentions));
    const own = new Set(signals);
    const attached = leadSignals.letGo(leadId).filter((id) => !own.has(id));
    for (const key of keys) forgetAuthor.run(tenantId, key);
    const replies = recipients.forget(tenantId, [leadId, ...keys]);
    leadRow.remove(leadId);
    const steps: [StepKind, readonly string[]][] = [
      ['signal', signals],
      ['event', [...events.about([leadId]), ...replies, ...eventIds]],
      ['attached', attached],
      ['naming_signal', mentioning.signals],
      ['naming_lead', mentioning.leads],
      ['naming_event', mentioning.events],
      ['answers', ['["",""]']],
    ];
    for (const [kind, subjects] of steps)
      for (const subject of new Set(subjects)) addStep.run(leadId, kind, subject);
  }

  /** Does steps until they cost enough; the endpoints whose waiting deliveries changed. */
  function goOn(erasing: Erasing): string[] {
    const endpointIds = new Set<string>();
    let cost = 0;
    for (const step of selectSteps.all(erasing.leadId, STEPS_AT_ONCE)) {
      if (cost >= PIECE_COST) break;
      const result = runStep(erasing, step);
      for (const id of result.endpointIds) endpointIds.add(id);
      cost += result.cost + STATEMENT_COST;
      removeStep.run(step.position);
    }
    events.renewEndpoints(endpointIds);
    return [...endpointIds];
  }

  return {
    eraseLead(erasure) {
      if (!holds(erasure)) return false;
      start(erasure);
      return true;
    },
    continueErasure({ tenantId, leadId }) {
      const row = select.get(leadId, tenantId);
      if (row === undefined) return { endpointIds: [], isDone: true };
      const { texts, mentions } = row;
      const erasing = { tenantId, leadId, texts: JSON.parse(texts), mentions: JSON.parse(mentions) };
      const endpointIds = goOn(erasing);
      const isDone = selectSteps.get(leadId, 1) === undefined;
      if (isDone) {
        end.run(leadId);
        log.emptyAfterCommit();
      }
      return { endpointIds, isDone };
    },
    listErasures: (limit) => selectAll.all(limit),
  } satisfies Part<ErasureStore>;
}

interface StepParts {
  events: ReturnType<typeof createEventEraser>;
  leadSignals: ReturnType<typeof createLeadSignals>;
  addStep(leadId: string, kind: StepKind, subject: string): void;
}

/** What each kind of step does. */
function createSteps(db: Database, { events, leadSignals, addStep }: StepParts) {
  const selectSignal = db.prepare<[string, string], { wire: string; explanation: string; text: string }>(
    'SELECT wire, explanation, text FROM signals WHERE id = ? AND tenant_id = ?',
  );
  const emptySignal = db.prepare<[string, string, string]>(
    `UPDATE signals SET wire = ?, explanation = ?, text = '', external_id = NULL, canonical_url = NULL WHERE id = ?`,
  );
  const emptyFeedback = db.prepare<[string]>("UPDATE signal_feedback SET reason = '' WHERE signal_id = ?");
  const countDeliveries = db
    .prepare<[string], number>('SELECT count(*) FROM deliveries WHERE event_id = ?')
    .pluck();
  const index = createSignalIndex(db);
  const knownSignals = createKnownSignals(db);
  const mask = createMentionMask(db);
  const eraseAnswers = createAnswerEraser(db);
  const NOTHING: StepResult = { endpointIds: [], cost: 0 };

  function eraseOwn({ tenantId, leadId }: Erasing, id: string): StepResult {
    const row = selectSignal.get(id, tenantId);
    if (row === undefined) return NOTHING;
    const { wire, explanation } = eraseSignal(row, leadId);
    knownSignals.forget(id);
    index.renew(id, () => emptySignal.run(wire, explanation, id));
    emptyFeedback.run(id);
    // Found now that nothing can be added any more: an edit of the post finds it no longer.
    for (const eventId of events.about([id])) addStep(leadId, 'event', eventId);
    return { endpointIds: [], cost: row.text.length + row.wire.length + row.explanation.length };
  }

  function eraseEvent({ tenantId }: Erasing, id: string): StepResult {
    const deliveries = countDeliveries.get(id) ?? 0;
    return { endpointIds: events.erase(tenantId, [id]), cost: deliveries * 3 * STATEMENT_COST };
  }

  function maskSignal({ tenantId, mentions }: Erasing, id: string): StepResult {
    const row = selectSignal.get(id, tenantId);
    if (row === undefined) return NOTHING;
    const { deliveryIds, endpointIds } = mask.signal(tenantId, id, mentions);
    deliveryIds.forEach(events.emptyReplies);
    const length = row.text.length + row.wire.length + row.explanation.length;
    return { endpointIds, cost: 2 * length + deliveryIds.length * STATEMENT_COST };
  }

  function maskEvent({ mentions }: Erasing, id: string): StepResult {
    const { deliveryIds, endpointIds } = mask.event(id, mentions);
    deliveryIds.forEach(events.emptyReplies);
    return { endpointIds, cost: (1 + deliveryIds.length) * STATEMENT_COST };
  }

  function answers({ tenantId, leadId, texts, mentions }: Erasing, place: string): StepResult {
    const next = eraseAnswers(tenantId, { texts, mentions, after: JSON.parse(place) });
    if (next !== null) addStep(leadId, 'answers', JSON.stringify(next));
    return { endpointIds: [], cost: PIECE_COST };
  }

  return (erasing: Erasing, { kind, subject }: Step): StepResult => {
    switch (kind) {
      case 'signal':
        return eraseOwn(erasing, subject);
      case 'event':
        return eraseEvent(erasing, subject);
      case 'attached':
        leadSignals.hideLead(subject, erasing.leadId);
        return { endpointIds: [], cost: 10 * STATEMENT_COST };
      case 'naming_signal':
        return maskSignal(erasing, subject);
      case 'naming_lead':
        mask.lead(erasing.tenantId, subject, erasing.mentions);
        return { endpointIds: [], cost: 10 * STATEMENT_COST };
      case 'naming_event':
        return maskEvent(erasing, subject);
      case 'answers':
        return answers(erasing, subject);
    }
  };
}
