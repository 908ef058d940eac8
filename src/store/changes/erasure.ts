import type { Lead } from '../../model/lead.ts';
import {
  createTextTest,
  FEW_TEXTS,
  maskJson,
  maskMentions,
  mentionPattern,
  mentionsInJson,
} from '../../model/mentions.ts';
import { personKeys } from '../../model/person-keys.ts';
import type { Signal } from '../../model/signal.ts';
import { eraseSignal } from '../../rules/signals.ts';
import type { ErasureStore, LeadErasure, Mentions } from '../erasure-store.ts';
import type { Asks, Script, Scripts } from '../script.ts';
import { MAX_REMOVED_AT_ONCE } from '../signal-store.ts';
import { type CampaignStatements, createRecipients } from './campaigns.ts';
import { createEventEraser, createRemainderWriter, type EventDeliveries } from './events.ts';
import { createKnownSignals } from './known-signals.ts';
import { createLeadRow, createLeadSignals } from './lead-rows.ts';
import { createSignalRemover, type SignalStatements } from './signals.ts';

export interface ErasureStatements extends MentionStatements, CampaignStatements {
  erasure: {
    selectSignalIds(tenantId: string, keys: string): string[];
    forgetAuthor(tenantId: string, key: string): void;
    begin(leadId: string, tenantId: string, texts: string, mentions: string): void;
    setTexts(texts: string, leadId: string): void;
    selectErasure(leadId: string, tenantId: string): { texts: string; mentions: string } | undefined;
    selectAll(limit: number): { tenantId: string; leadId: string }[];
    end(leadId: string): void;
    addStep(leadId: string, kind: StepKind, subject: string): void;
    selectSteps(leadId: string, limit: number): ErasureStep[];
    removeStep(position: number): void;
    selectSignal(
      id: string,
      tenantId: string,
    ): { wire: string; explanation: string; text: string } | undefined;
    emptySignal(wire: string, explanation: string, id: string): void;
    emptyFeedback(signalId: string): void;
    /** After this transaction is committed, nothing erased remains in what the driver keeps besides its rows. */
    overwriteErased(): void;
  };
}

/** The kinds of steps of an erasure. The subject of a step is the ID of what its kind names. */
type StepKind =
  /** Belongs to the person: emptied. Also the deliveries of an event from a position on: the subject, as JSON. */
  | 'signal'
  | 'event'
  | 'deliveries'
  /** Attached to the lead but posted by another person: detached. */
  | 'attached'
  /** Mentions the person: redacted. */
  | 'naming_signal'
  | 'naming_lead'
  | 'naming_event'
  /** Stored responses from a position on, which is the subject, as JSON. */
  | 'answers'
  | 'list'; // several steps of one kind, as JSON

interface ErasureStep {
  position: number;
  kind: StepKind;
  subject: string;
}

/** What a step knows about its erasure. */
type Erasing = Pick<LeadErasure, 'tenantId' | 'leadId' | 'texts' | 'mentions'>;

/** The result of a step, and roughly how many characters it read and wrote. */
interface StepResult {
  endpointIds: readonly string[];
  cost: number;
}

const NOBODY: Mentions = { texts: [], names: [] };
/** Characters per piece of an erasure. */
const PIECE_COST = 60_000;
/** The minimum cost of a statement, in characters. */
const STATEMENT_COST = 400;
const STEPS_AT_ONCE = 200;
/** Steps in one list: a person may have a hundred thousand signals, whose steps would be stored in one commit. */
const STEPS_A_LIST = 100;
/** A delivery takes a few cheap statements. */
const DELIVERIES_AT_ONCE = PIECE_COST / STATEMENT_COST;
const FIRST_ANSWER = '["",""]';

export function erasureChanges(ask: Asks<ErasureStatements>) {
  const leadRow = createLeadRow(ask);
  const leadSignals = createLeadSignals(ask);
  const recipients = createRecipients(ask);
  const events = createEventEraser(ask);
  const storeRemainder = createRemainderWriter(ask);
  const remover = createSignalRemover(ask);
  const runStep = createSteps(ask, events, leadSignals);

  /** Whether the lead and the person's signals are still exactly as found. */
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
    yield* ask.erasure.begin(leadId, tenantId, '[]', JSON.stringify(mentions));
    for (const [kind, subjects] of steps) {
      const all = [...new Set(subjects)];
      if (all.length === 1) yield* ask.erasure.addStep(leadId, kind, all[0] ?? '');
      else
        for (let at = 0; at < all.length; at += STEPS_A_LIST)
          yield* ask.erasure.addStep(
            leadId,
            'list',
            JSON.stringify([kind, all.slice(at, at + STEPS_A_LIST)]),
          );
    }
    // Last, because SQLite reads the whole row to check that each step refers to it: with 2 MB of texts, that took 5 s.
    yield* ask.erasure.setTexts(JSON.stringify(texts), leadId);
  }

  /** Runs steps up to the cost of one piece; returns the endpoints whose waiting deliveries changed. */
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
      // An event is erased together with its deliveries, which are found only when they are stored.
      const remainder = yield* ask.events.selectRemainder(tenantId);
      if (remainder !== undefined) {
        const stored = yield* storeRemainder({ tenantId, ...remainder });
        return { endpointIds: stored?.due ?? [], isDone: false };
      }
      const { texts, mentions } = row;
      const erasing = { tenantId, leadId, texts: JSON.parse(texts), mentions: JSON.parse(mentions) };
      const endpointIds = yield* goOn(erasing);
      const isDone = (yield* ask.erasure.selectSteps(leadId, 1)).length === 0;
      if (isDone) {
        yield* ask.erasure.end(leadId);
        // Pages of a deleted signal may stay in the log until it is overwritten, like those of any other change.
        if (erasing.mentions.texts.length + erasing.mentions.names.length > 0)
          yield* ask.erasure.overwriteErased();
      }
      return { endpointIds, isDone };
    },
    listErasures: (limit) => ask.erasure.selectAll(limit),
  } satisfies Scripts<ErasureStore>;
}

/** The handler of each kind of step. */
function createSteps(
  ask: Asks<ErasureStatements>,
  events: ReturnType<typeof createEventEraser>,
  leadSignals: ReturnType<typeof createLeadSignals>,
) {
  const knownSignals = createKnownSignals(ask);
  const mask = createMentionMask(ask);
  const eraseAnswers = createAnswerEraser(ask);
  const NOTHING: StepResult = { endpointIds: [], cost: 0 };
  const PIECE: StepResult = { endpointIds: [], cost: PIECE_COST };

  /** Removes some words of a long text from the search index, as a separate step; returns whether words remain. */
  function* leaveSearch(text: string, { leadId, kind, id }: { leadId: string; kind: StepKind; id: string }) {
    if (text.length <= MAX_REMOVED_AT_ONCE || !(yield* ask.signals.leaveIndexPartly(id))) return false;
    yield* ask.erasure.addStep(leadId, kind, id);
    return true;
  }

  function* eraseOwn({ tenantId, leadId }: Erasing, id: string): Script<StepResult> {
    const row = yield* ask.erasure.selectSignal(id, tenantId);
    if (row === undefined) return NOTHING;
    if (yield* leaveSearch(row.text, { leadId, kind: 'signal', id })) return PIECE;
    const { wire, explanation } = eraseSignal(row, leadId);
    yield* knownSignals.forget(id);
    yield* ask.signals.leaveIndex(id);
    yield* ask.erasure.emptySignal(wire, explanation, id);
    yield* ask.signals.enterIndex(id);
    yield* ask.erasure.emptyFeedback(id);
    // Read only now that nothing more can be added: an edit of the post no longer finds the signal.
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
    return { endpointIds, cost: count * STATEMENT_COST };
  }

  function* maskSignal({ tenantId, leadId, mentions }: Erasing, id: string): Script<StepResult> {
    const row = yield* ask.erasure.selectSignal(id, tenantId);
    if (row === undefined) return NOTHING;
    if (yield* leaveSearch(row.text, { leadId, kind: 'naming_signal', id })) return PIECE;
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
    // Last of all: a response that is stored in the meantime may contain a signal that is not erased yet.
    if (place === FIRST_ANSWER && (yield* ask.erasure.selectSteps(leadId, 2)).length > 1) {
      yield* ask.erasure.addStep(leadId, 'answers', place);
      return NOTHING;
    }
    const next = yield* eraseAnswers(tenantId, { texts, mentions, after: JSON.parse(place) });
    if (next !== null) yield* ask.erasure.addStep(leadId, 'answers', JSON.stringify(next));
    return { endpointIds: [], cost: PIECE_COST };
  }

  return function* (erasing: Erasing, { kind, subject }: ErasureStep): Script<StepResult> {
    switch (kind) {
      case 'list': {
        const [listed, subjects] = JSON.parse(subject) as [StepKind, string[]];
        for (const each of subjects) yield* ask.erasure.addStep(erasing.leadId, listed, each);
        return { endpointIds: [], cost: subjects.length * STATEMENT_COST };
      }
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

export interface MentionStatements extends SignalStatements {
  mentions: {
    selectAbout(subjectId: string): string[];
    selectSignal(id: string, tenantId: string): ErasedSignalRow | undefined;
    updateSignal(wire: string, explanation: string, text: string, id: string): void;
    forgetPlace(id: string): void;
    selectPlaces(
      id: string,
    ): { position: number; external_id: string | null; canonical_url: string | null }[];
    forgetOtherPlace(id: string, position: number): void;
    updateReason(reason: string, signalId: string): void;
    selectLead(id: string, tenantId: string): string | undefined;
    selectMoves(leadId: string): { position: number; reason: string }[];
    updateMove(reason: string, leadId: string, position: number): void;
    selectEvent(id: string): string | undefined;
    updateEvent(data: string, id: string): void;
    selectBodies(eventId: string, inBatches: string): BodyRow[];
    updateBody(body: string, id: number): void;
    /** Stored responses after a position, limited in number and total characters. */
    selectAnswers(
      tenantId: string,
      after: AnswerPlace,
      most: { rows: number; characters: number },
    ): { answers: AnswerRow[]; isLast: boolean };
    forgetAnswer(tenantId: string, route: string, key: string): void;
    updateAnswer(body: string, tenantId: string, route: string, key: string): void;
  };
}

/** The response of a keyed request, and its steps so far. */
export interface AnswerRow {
  route: string;
  key: string;
  body: string;
  steps: string;
}

interface ErasedSignalRow {
  wire: string;
  explanation: string;
  text: string;
  canonical_url: string | null;
  reason: string | null;
}

interface BodyRow {
  id: string;
  endpoint_id: string;
  waits: number;
  body_id: number | null;
  body: string | null;
}

/** The deliveries whose bodies were changed, and the endpoints of pending ones. */
interface Masked {
  deliveryIds: string[];
  endpointIds: string[];
}

/**
 * Redacts mentions of a person in other people's signals, leads and events, and in their deliveries, sent or pending.
 */
function createMentionMask(ask: Asks<MentionStatements>) {
  const maskSignal = createSignalMask(ask);
  const maskLead = createLeadMask(ask);
  const maskEvent = createEventMask(ask);

  return {
    /** In a signal and the events about it. */
    *signal(tenantId: string, id: string, mentions: Mentions): Script<Masked> {
      const pattern = yield* maskSignal(tenantId, id, mentions);
      const masked: Masked[] = [];
      if (pattern !== null) {
        for (const eventId of yield* ask.mentions.selectAbout(id))
          masked.push(yield* maskEvent(eventId, pattern));
      }
      return {
        deliveryIds: masked.flatMap(({ deliveryIds }) => deliveryIds),
        endpointIds: masked.flatMap(({ endpointIds }) => endpointIds),
      };
    },
    *lead(tenantId: string, id: string, mentions: Mentions): Script<void> {
      const pattern = mentionPattern(mentions.texts, mentions.names);
      if (pattern !== null) yield* maskLead(tenantId, id, pattern);
    },
    *event(id: string, mentions: Mentions): Script<Masked> {
      const pattern = mentionPattern(mentions.texts, mentions.names);
      return pattern === null ? { deliveryIds: [], endpointIds: [] } : yield* maskEvent(id, pattern);
    },
  };
}

/** Returns the redacted mentions, for the events of the signal; null if there is nothing to do. */
function createSignalMask(ask: Asks<MentionStatements>) {
  return function* (tenantId: string, id: string, mentions: Mentions): Script<RegExp | null> {
    const row = yield* ask.mentions.selectSignal(id, tenantId);
    const pattern = row === undefined ? null : patternFor(JSON.parse(row.wire), mentions);
    if (row === undefined || pattern === null) return null;
    const signal = JSON.parse(row.wire) as Signal;
    const mentioned = (text: string | null) => text !== null && maskMentions(text, pattern) !== text;
    const { platform, external_id } = signal;
    const placeTells = [platform.post_url, external_id, row.canonical_url].some(mentioned);
    const left = placeTells
      ? { ...signal, platform: { ...platform, post_url: '' }, external_id: null }
      : signal;
    const places = signal.also_seen?.map((place) =>
      mentioned(place.post_url) ? { ...place, post_url: '' } : place,
    );
    const wire = maskJson(
      JSON.stringify(places === undefined ? left : { ...left, also_seen: places }),
      pattern,
    );
    const [explanation, text] = [maskJson(row.explanation, pattern), maskMentions(row.text, pattern)];
    yield* ask.signals.leaveIndex(id);
    yield* ask.mentions.updateSignal(wire, explanation, text, id);
    yield* ask.signals.enterIndex(id);
    if (placeTells) yield* ask.mentions.forgetPlace(id);
    for (const { position, external_id, canonical_url } of yield* ask.mentions.selectPlaces(id)) {
      if ([external_id, canonical_url].some(mentioned)) yield* ask.mentions.forgetOtherPlace(id, position);
    }
    if (row.reason !== null && mentioned(row.reason))
      yield* ask.mentions.updateReason(maskMentions(row.reason, pattern), id);
    return pattern;
  };
}

/** Names stay in posts by an author with the same name and a different address or profile. */
function patternFor({ prospect }: Signal, { texts, names }: Mentions): RegExp | null {
  const sameName = mentionPattern([], names);
  const isOther = personKeys(prospect).length > 0 && sameName !== null && sameName.test(prospect.name);
  return mentionPattern(texts, isOther ? [] : names);
}

function createLeadMask(ask: Asks<MentionStatements>) {
  const leadRow = createLeadRow(ask);

  return function* (tenantId: string, id: string, pattern: RegExp): Script<void> {
    const wire = yield* ask.mentions.selectLead(id, tenantId);
    if (wire === undefined) return;
    const lead = JSON.parse(wire) as Lead;
    const left: Lead = {
      ...lead,
      source: maskMentions(lead.source, pattern),
      tags: [...new Set(lead.tags.map((tag) => maskMentions(tag, pattern)))],
      custom_fields: JSON.parse(maskJson(JSON.stringify(lead.custom_fields), pattern)),
      notes: maskMentions(lead.notes, pattern),
      next_step: lead.next_step && { ...lead.next_step, text: maskMentions(lead.next_step.text, pattern) },
    };
    yield* leadRow.update(left);
    yield* leadRow.setTags(tenantId, left);
    for (const { position, reason } of yield* ask.mentions.selectMoves(id)) {
      yield* ask.mentions.updateMove(maskMentions(reason, pattern), id, position);
    }
  };
}

function createEventMask(ask: Asks<MentionStatements>) {
  return function* (eventId: string, pattern: RegExp): Script<Masked> {
    const data = yield* ask.mentions.selectEvent(eventId);
    if (data === undefined) return { deliveryIds: [], endpointIds: [] };
    yield* ask.mentions.updateEvent(maskJson(data, pattern), eventId);
    const deliveries = yield* ask.mentions.selectBodies(eventId, eventId);
    for (const [bodyId, body] of new Map(deliveries.map((row) => [row.body_id, row.body]))) {
      if (bodyId !== null && body !== null) yield* ask.mentions.updateBody(maskJson(body, pattern), bodyId);
    }
    return {
      deliveryIds: deliveries.map(({ id }) => id),
      endpointIds: deliveries.flatMap(({ endpoint_id, waits }) => (waits === 1 ? [endpoint_id] : [])),
    };
  };
}

/** The position before a range of a tenant's stored responses: `[route, key]`. */
export type AnswerPlace = [route: string, key: string];

/** Stored responses scanned at a time: about 10 ms. The response of a batch can have a megabyte. */
const STRETCH = { rows: 200, characters: 500_000 };
/** If there is nothing to redact, a response is searched without parsing it. */
const WIDE_STRETCH = { rows: 1_000, characters: 2_000_000 };

/**
 * Scans the next of a tenant's stored responses: deletes those that contain one of `texts`, and redacts mentions in the others.
 * Returns the position of the next range; null: there is none.
 */
export function createAnswerEraser(ask: Asks<MentionStatements>) {
  return function* (
    tenantId: string,
    { texts, mentions, after }: { texts: readonly string[]; mentions: Mentions; after: AnswerPlace },
  ): Script<AnswerPlace | null> {
    const holds = createTextTest(texts);
    // Lower case in SQL does not cover every script, so the last word of a name is searched for here.
    const pattern = mentionPattern(mentions.texts, mentions.names);
    const stretch = pattern === null && texts.length <= FEW_TEXTS ? WIDE_STRETCH : STRETCH;
    const { answers, isLast } = yield* ask.mentions.selectAnswers(tenantId, after, stretch);
    for (const { route, key, body, steps } of answers) {
      if (holds(body) || holds(steps)) yield* ask.mentions.forgetAnswer(tenantId, route, key);
      else if (pattern !== null && body !== '' && mentionsInJson(body, pattern))
        yield* ask.mentions.updateAnswer(maskJson(body, pattern), tenantId, route, key);
    }
    const last = answers.at(-1);
    return isLast || last === undefined ? null : [last.route, last.key];
  };
}
