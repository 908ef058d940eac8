import { eraseSignal } from '../../rules/signals.ts';
import type { ErasureStore, LeadErasure, Mentions } from '../erasure-store.ts';
import type { Asks, Script, Scripts } from '../script.ts';
import { type CampaignStatements, createRecipients } from './campaigns.ts';
import { createEventEraser, type EventDeliveries } from './events.ts';
import { createKnownSignals } from './known-signals.ts';
import { createLeadRow, createLeadSignals } from './lead-rows.ts';
import { createAnswerEraser, createMentionMask, type MentionStatements } from './mentions.ts';
import { createSignalRemover } from './signals.ts';

export interface ErasureStatements extends MentionStatements, CampaignStatements {
  erasure: {
    selectSignalIds(tenantId: string, keys: string): string[];
    forgetAuthor(tenantId: string, key: string): void;
    begin(leadId: string, tenantId: string, texts: string, mentions: string): void;
    selectErasure(leadId: string, tenantId: string): { texts: string; mentions: string } | undefined;
    selectAll(limit: number): { tenantId: string; leadId: string }[];
    end(leadId: string): void;
    addStep(leadId: string, kind: StepKind, subject: string): void;
    selectSteps(leadId: string, limit: number): Step[];
    removeStep(position: number): void;
    selectSignal(
      id: string,
      tenantId: string,
    ): { wire: string; explanation: string; text: string } | undefined;
    emptySignal(wire: string, explanation: string, id: string): void;
    emptyFeedback(signalId: string): void;
    /** Nothing of what was erased is left in what the driver keeps beside its rows, once this is committed. */
    overwriteErased(): void;
  };
}

/** What a step of an erasure does with its subject, which is the id of what its kind names. */
type StepKind =
  /** Of the person: emptied. An event's deliveries too, from a place on, which is the subject, as JSON. */
  | 'signal'
  | 'event'
  | 'deliveries'
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

/** What a step knows of its erasure. */
type Erasing = Pick<LeadErasure, 'tenantId' | 'leadId' | 'texts' | 'mentions'>;

/** What a step came to, and about how many characters were read and written for it. */
interface StepResult {
  endpointIds: readonly string[];
  cost: number;
}

const NOBODY: Mentions = { texts: [], names: [] };
/** Characters for one piece of an erasure: a long post's words leave the index in some 5 ms. */
const PIECE_COST = 60_000;
/** A statement costs at least as much as so many characters. */
const STATEMENT_COST = 400;
const STEPS_AT_ONCE = 200;
/** A delivery takes some statements of no great cost. */
const DELIVERY_COST = STATEMENT_COST;
const DELIVERIES_AT_ONCE = PIECE_COST / DELIVERY_COST;
const FIRST_ANSWER = '["",""]';

export function erasureChanges(ask: Asks<ErasureStatements>) {
  const leadRow = createLeadRow(ask);
  const leadSignals = createLeadSignals(ask);
  const recipients = createRecipients(ask);
  const events = createEventEraser(ask);
  const remover = createSignalRemover(ask);
  const runStep = createSteps(ask, { events, leadSignals });

  /** Whether the person still has the lead as it was found, and no signal but those that were found. */
  function* holds({ tenantId, leadId, expectedVersion, keys, signals }: LeadErasure): Script<boolean> {
    const found = new Set(signals);
    const stored = yield* ask.leads.getLead(tenantId, leadId);
    if ((stored?.version ?? 0) !== expectedVersion) return false;
    return (yield* ask.erasure.selectSignalIds(tenantId, JSON.stringify(keys))).every((id) => found.has(id));
  }

  function* start(erasure: LeadErasure): Script<void> {
    const { tenantId, leadId, keys, signals, eventIds, mentioning } = erasure;
    const own = new Set(signals);
    const attached = (yield* leadSignals.letGo(leadId)).filter((id) => !own.has(id));
    for (const key of keys) yield* ask.erasure.forgetAuthor(tenantId, key);
    const replies = yield* recipients.forget(tenantId, [leadId, ...keys]);
    yield* leadRow.remove(leadId);
    yield* begin(erasure, [
      ['signal', signals],
      ['event', [...(yield* events.about([leadId])), ...replies, ...eventIds]],
      ['attached', attached],
      ['naming_signal', mentioning.signals],
      ['naming_lead', mentioning.leads],
      ['naming_event', mentioning.events],
      ['answers', [FIRST_ANSWER]],
    ]);
  }

  function* begin(
    { tenantId, leadId, texts, mentions }: Erasing,
    steps: [StepKind, readonly string[]][],
  ): Script<void> {
    yield* ask.erasure.begin(leadId, tenantId, JSON.stringify(texts), JSON.stringify(mentions));
    for (const [kind, subjects] of steps)
      for (const subject of new Set(subjects)) yield* ask.erasure.addStep(leadId, kind, subject);
  }

  /** Does steps until they cost enough; the endpoints whose waiting deliveries changed. */
  function* goOn(erasing: Erasing): Script<string[]> {
    const endpointIds = new Set<string>();
    let cost = 0;
    for (const step of yield* ask.erasure.selectSteps(erasing.leadId, STEPS_AT_ONCE)) {
      if (cost >= PIECE_COST) break;
      const result = yield* runStep(erasing, step);
      for (const id of result.endpointIds) endpointIds.add(id);
      cost += result.cost + STATEMENT_COST;
      yield* ask.erasure.removeStep(step.position);
    }
    yield* events.renewEndpoints(endpointIds);
    return [...endpointIds];
  }

  return {
    *eraseLead(erasure) {
      if (!(yield* holds(erasure))) return false;
      yield* start(erasure);
      return true;
    },
    *deleteSignal(tenantId, id, now) {
      if (!(yield* remover.removeOne(tenantId, id, now))) return false;
      yield* begin({ tenantId, leadId: id, texts: [id], mentions: NOBODY }, [
        ['event', yield* events.about([id])],
        ['answers', [FIRST_ANSWER]],
      ]);
      return true;
    },
    *continueErasure({ tenantId, leadId }) {
      const row = yield* ask.erasure.selectErasure(leadId, tenantId);
      if (row === undefined) return { endpointIds: [], isDone: true };
      const { texts, mentions } = row;
      const erasing = { tenantId, leadId, texts: JSON.parse(texts), mentions: JSON.parse(mentions) };
      const endpointIds = yield* goOn(erasing);
      const isDone = (yield* ask.erasure.selectSteps(leadId, 1)).length === 0;
      if (isDone) {
        yield* ask.erasure.end(leadId);
        // A deleted signal's pages may stand in the log until that is used again, as those of any other change.
        if (erasing.mentions.texts.length + erasing.mentions.names.length > 0)
          yield* ask.erasure.overwriteErased();
      }
      return { endpointIds, isDone };
    },
    listErasures: (limit) => ask.erasure.selectAll(limit),
  } satisfies Scripts<ErasureStore>;
}

interface StepDeps {
  events: ReturnType<typeof createEventEraser>;
  leadSignals: ReturnType<typeof createLeadSignals>;
}

/** What each kind of step does. */
function createSteps(ask: Asks<ErasureStatements>, { events, leadSignals }: StepDeps) {
  const knownSignals = createKnownSignals(ask);
  const mask = createMentionMask(ask);
  const eraseAnswers = createAnswerEraser(ask);
  const NOTHING: StepResult = { endpointIds: [], cost: 0 };

  function* eraseOwn({ tenantId, leadId }: Erasing, id: string): Script<StepResult> {
    const row = yield* ask.erasure.selectSignal(id, tenantId);
    if (row === undefined) return NOTHING;
    const { wire, explanation } = eraseSignal(row, leadId);
    yield* knownSignals.forget(id);
    yield* ask.signals.leaveIndex(id);
    yield* ask.erasure.emptySignal(wire, explanation, id);
    yield* ask.signals.enterIndex(id);
    yield* ask.erasure.emptyFeedback(id);
    // Found now that nothing can be added any more: an edit of the post finds it no longer.
    for (const eventId of yield* events.about([id])) yield* ask.erasure.addStep(leadId, 'event', eventId);
    return { endpointIds: [], cost: row.text.length + row.wire.length + row.explanation.length };
  }

  function* eraseEvent({ tenantId, leadId }: Erasing, id: string): Script<StepResult> {
    const deliveries = yield* events.erase(tenantId, id);
    return deliveries === null ? NOTHING : yield* eraseDeliveries({ leadId }, deliveries);
  }

  function* eraseDeliveries({ leadId }: Pick<Erasing, 'leadId'>, of: EventDeliveries): Script<StepResult> {
    const { endpointIds, count, next } = yield* events.eraseDeliveries(of, DELIVERIES_AT_ONCE);
    if (next !== null) yield* ask.erasure.addStep(leadId, 'deliveries', JSON.stringify(next));
    return { endpointIds, cost: count * DELIVERY_COST };
  }

  function* maskSignal({ tenantId, mentions }: Erasing, id: string): Script<StepResult> {
    const row = yield* ask.erasure.selectSignal(id, tenantId);
    if (row === undefined) return NOTHING;
    const { deliveryIds, endpointIds } = yield* mask.signal(tenantId, id, mentions);
    for (const each of deliveryIds) yield* ask.events.emptyReplies(each);
    const length = row.text.length + row.wire.length + row.explanation.length;
    return { endpointIds, cost: 2 * length + deliveryIds.length * STATEMENT_COST };
  }

  function* maskEvent({ mentions }: Erasing, id: string): Script<StepResult> {
    const { deliveryIds, endpointIds } = yield* mask.event(id, mentions);
    for (const each of deliveryIds) yield* ask.events.emptyReplies(each);
    return { endpointIds, cost: (1 + deliveryIds.length) * STATEMENT_COST };
  }

  function* answers({ tenantId, leadId, texts, mentions }: Erasing, place: string): Script<StepResult> {
    const next = yield* eraseAnswers(tenantId, { texts, mentions, after: JSON.parse(place) });
    if (next !== null) yield* ask.erasure.addStep(leadId, 'answers', JSON.stringify(next));
    return { endpointIds: [], cost: PIECE_COST };
  }

  return function* (erasing: Erasing, { kind, subject }: Step): Script<StepResult> {
    switch (kind) {
      case 'signal':
        return yield* eraseOwn(erasing, subject);
      case 'event':
        return yield* eraseEvent(erasing, subject);
      case 'deliveries':
        return yield* eraseDeliveries(erasing, JSON.parse(subject));
      case 'attached':
        yield* leadSignals.hideLead(subject, erasing.leadId);
        return { endpointIds: [], cost: 10 * STATEMENT_COST };
      case 'naming_signal':
        return yield* maskSignal(erasing, subject);
      case 'naming_lead':
        yield* mask.lead(erasing.tenantId, subject, erasing.mentions);
        return { endpointIds: [], cost: 10 * STATEMENT_COST };
      case 'naming_event':
        return yield* maskEvent(erasing, subject);
      case 'answers':
        return yield* answers(erasing, subject);
    }
  };
}
