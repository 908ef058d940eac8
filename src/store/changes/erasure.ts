import { eraseSignal } from '../../rules/signals.ts';
import { searchedFacts } from '../../rules/words.ts';
import type { ErasureStore, LeadErasure, Mentions } from '../erasure-store.ts';
import type { Asks, Script, Scripts } from '../script.ts';
import { MAX_REMOVED_AT_ONCE, searchedLength } from '../search-cost.ts';
import { type CampaignStatements, createRecipients } from './campaigns.ts';
import { createEventEraser, createRemainderWriter, type EventDeliveries } from './events.ts';
import { createKnownSignals } from './known-signals.ts';
import { createLeadRow, createLeadSignals } from './lead-rows.ts';
import {
  createAnswerEraser,
  createMentionMask,
  type MentionStatements,
  type NamedBodies,
} from './mentions.ts';
import { createReindexings, createSignalRemover, type Reindexing } from './signals.ts';

export interface ErasureStatements extends MentionStatements, CampaignStatements {
  erasure: {
    /** The number of signals with the keys, counted once for each of their keys; more than `most` are not counted. */
    countAuthorships(tenantId: string, keys: string, most: number): number | undefined;
    /** 1 if a signal after the one with id `last` has one of the keys. */
    hasLater(tenantId: string, keys: string, last: string): number | undefined;
    /** Removes the key from up to `limit` signals, up to the one with id `last`; returns their ids. */
    forgetAuthor(tenantId: string, key: string, last: string, limit: number): string[];
    begin(leadId: string, tenantId: string, texts: string, mentions: string): void;
    selectMentions(leadId: string, tenantId: string): string | undefined;
    selectTexts(leadId: string): string | undefined;
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
  /** A key of the person, and the last signal to remove it from, and to empty: the subject, as JSON. */
  | 'author'
  /** All moves of the lead. */
  | 'moves'
  /** All signals attached to the lead: detached. */
  | 'attachments'
  /** A signal that an earlier release detached: its JSON names the lead. */
  | 'attached'
  /** Mentions the person: redacted. */
  | 'naming_signal'
  | 'naming_lead'
  | 'naming_event'
  /** Of another person with the same name, which stays. */
  | 'event_of_namesake'
  /** Deliveries of such an event: the subject, as JSON. */
  | 'naming_bodies'
  /** The reasons of a lead's moves after a position: the subject, as JSON. */
  | 'naming_moves'
  /** Stored responses from a position on, which is the subject, as JSON. */
  | 'answers'
  | 'list'; // several steps of one kind, as JSON

interface ErasureStep {
  position: number;
  kind: StepKind;
  subject: string;
}

type Begun = Pick<LeadErasure, 'tenantId' | 'leadId' | 'texts' | 'mentions'>;

/** What a step knows about its erasure. */
interface Erasing extends Omit<Begun, 'texts'> {
  /** Of the signals that steps of the same piece change. */
  reindexing: Reindexing;
}

/** The result of a step, and roughly how many characters it read and wrote. */
interface StepResult {
  endpointIds: readonly string[];
  cost: number;
  /** The step has more to do: it stays the first one, and continues in the next piece. */
  remains?: boolean;
}

const NOBODY: Mentions = { texts: [], names: [] };
/**
 * Characters per piece of an erasure. On PostgreSQL, whose statements take a round trip each, pieces of 60,000 made posts of other
 * tenants wait for up to 0.5 s.
 */
const PIECE_COST = 20_000;
/** The minimum cost of a statement, in characters. */
const STATEMENT_COST = 400;
/** Of removing a signal from the search index, in addition: each of its words is searched for in lists of up to a million signals. */
const INDEX_COST = 10 * STATEMENT_COST;
const STEPS_AT_ONCE = 200;
/** Steps in one list: events may name a person in tens of thousands of rows, whose steps would be stored in one commit. */
const STEPS_A_LIST = 100;
/** A delivery takes a few cheap statements. */
const DELIVERIES_AT_ONCE = PIECE_COST / STATEMENT_COST;
/** Signals detached at a time, or without their author: at most 20 ms. */
const SIGNALS_AT_ONCE = 500;
/** Moves of the erased lead, which may have thousands, with reasons of up to 1,000 characters: about 3 us each. */
const MOVES_AT_ONCE = 500;
/**
 * Signals that are counted before an erasure: 600,000 took 0.1 s. Those of more that are added before the last one found are erased by their
 * keys, too.
 */
const MOST_COUNTED = 50_000;
/** Keys of the person that are forgotten in the commit that starts an erasure, each in up to 500 signals. */
const FIRST_KEYS = 20;
const FIRST_ANSWER = '["",""]';

export function erasureChanges(ask: Asks<ErasureStatements>) {
  const leadRow = createLeadRow(ask);
  const events = createEventEraser(ask);
  const storeRemainder = createRemainderWriter(ask);
  const remover = createSignalRemover(ask);
  const addSteps = createStepWriter(ask);
  const runStep = createSteps(ask, events, addSteps);
  const beginReindexing = createReindexings(ask);

  /** Whether the lead is still as found, and the person has no more signals. IDs are not compared: a list of 300,000 took 0.4 s. */
  function* holds(erasure: LeadErasure): Script<boolean> {
    const { tenantId, leadId, expectedVersion, authorships, lastSignal } = erasure;
    const stored = yield* ask.leads.getLead(tenantId, leadId);
    if ((stored?.version ?? 0) !== expectedVersion) return false;
    const keys = JSON.stringify(erasure.keys);
    // One that was removed and one that was added since leave the number as it was.
    if ((yield* ask.erasure.hasLater(tenantId, keys, lastSignal)) !== undefined) return false;
    if (authorships > MOST_COUNTED) return true;
    return ((yield* ask.erasure.countAuthorships(tenantId, keys, authorships)) ?? 0) <= authorships;
  }

  function* start(erasure: LeadErasure): Script<void> {
    const { tenantId, leadId, keys, lastSignal, signals, eventIds, mentions, mentioning } = erasure;
    yield* leadRow.remove(leadId);
    yield* begin({ ...erasure, texts: [leadId, ...signals, ...erasure.texts] });
    const authors = [leadId, ...keys].map((key) => JSON.stringify([key, lastSignal]));
    // In this commit, as far as one piece allows, so that nobody finds the person's signals any more.
    const erasing = { tenantId, leadId, mentions, reindexing: beginReindexing() };
    yield* runOrAdd(erasing, { kind: 'moves', subject: '' });
    yield* runOrAdd(erasing, { kind: 'attachments', subject: '' });
    for (const subject of authors.slice(0, FIRST_KEYS)) yield* runOrAdd(erasing, { kind: 'author', subject });
    yield* addSteps(leadId, [
      ['author', authors.slice(FIRST_KEYS)],
      ['signal', signals],
      ['event', [...new Set([...(yield* events.about([leadId])), ...eventIds])]],
      ['naming_signal', mentioning.signals],
      ['naming_lead', mentioning.leads],
      ['naming_event', mentioning.events],
      ['answers', [FIRST_ANSWER]],
    ]);
  }

  function* runOrAdd(erasing: Erasing, step: Omit<ErasureStep, 'position'>): Script<void> {
    const { remains } = yield* runStep(erasing, step);
    if (remains) yield* ask.erasure.addStep(erasing.leadId, step.kind, step.subject);
  }

  function begin({ tenantId, leadId, texts, mentions }: Begun): Script<void> {
    return ask.erasure.begin(leadId, tenantId, JSON.stringify(texts), JSON.stringify(mentions));
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
      if (result.remains) break;
      yield* ask.erasure.removeStep(step.position);
    }
    yield* erasing.reindexing.enterAll();
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
      yield* begin({ tenantId, leadId: id, texts: [id], mentions: NOBODY });
      yield* addSteps(id, [
        ['event', yield* events.about([id])],
        ['answers', [FIRST_ANSWER]],
      ]);
      return true;
    },
    *continueErasure({ tenantId, leadId }) {
      const stored = yield* ask.erasure.selectMentions(leadId, tenantId);
      if (stored === undefined) return { endpointIds: [], isDone: true };
      // An event is erased together with its deliveries, which are found only when they are stored.
      const remainder = yield* ask.events.selectRemainder(tenantId);
      if (remainder !== undefined) {
        const due = (yield* storeRemainder({ tenantId, ...remainder }))?.due ?? [];
        return { endpointIds: due, isDone: false };
      }
      const mentions: Mentions = JSON.parse(stored);
      const endpointIds = yield* goOn({ tenantId, leadId, mentions, reindexing: beginReindexing() });
      const isDone = (yield* ask.erasure.selectSteps(leadId, 1)).length === 0;
      if (isDone) {
        yield* ask.erasure.end(leadId);
        // Pages of a deleted signal may stay in the log until it is overwritten, like those of any other change.
        if (mentions.texts.length + mentions.names.length > 0) yield* ask.erasure.overwriteErased();
      }
      return { endpointIds, isDone };
    },
    listErasures: (limit) => ask.erasure.selectAll(limit),
  } satisfies Scripts<ErasureStore>;
}

/** Adds steps, in lists. */
function createStepWriter(ask: Asks<ErasureStatements>) {
  return function* (leadId: string, steps: [StepKind, readonly string[]][]): Script<void> {
    for (const [kind, all] of steps) {
      if (all.length === 1) yield* ask.erasure.addStep(leadId, kind, all[0] ?? '');
      else
        for (let at = 0; at < all.length; at += STEPS_A_LIST)
          yield* ask.erasure.addStep(
            leadId,
            'list',
            JSON.stringify([kind, all.slice(at, at + STEPS_A_LIST)]),
          );
    }
  };
}

/** The handler of each kind of step. */
function createSteps(
  ask: Asks<ErasureStatements>,
  events: ReturnType<typeof createEventEraser>,
  addSteps: ReturnType<typeof createStepWriter>,
) {
  const leadSignals = createLeadSignals(ask);
  const recipients = createRecipients(ask);
  const knownSignals = createKnownSignals(ask);
  const mask = createMentionMask(ask);
  const eraseAnswers = createAnswerEraser(ask);
  const NOTHING: StepResult = { endpointIds: [], cost: 0 };
  const PIECE: StepResult = { endpointIds: [], cost: PIECE_COST };

  /** Removes some words of a signal with many from the search index, as a separate step; returns whether words remain. */
  function* leaveSearch(
    { leadId, reindexing }: Erasing,
    kind: StepKind,
    { id, text, wire }: { id: string; text: string; wire: string },
  ) {
    if (reindexing.hasLeft(id)) return false;
    const facts = searchedFacts(JSON.parse(wire));
    if (searchedLength({ text, facts }) <= MAX_REMOVED_AT_ONCE) return false;
    if (!(yield* ask.signals.leaveIndexPartly(id))) return false;
    yield* ask.erasure.addStep(leadId, kind, id);
    return true;
  }

  /** Adds steps that empty the signals of one of the person's keys, from which it removes the key, as from the recipients of campaigns. */
  function* forgetKey({ tenantId, leadId }: Erasing, subject: string): Script<StepResult> {
    const [key, last] = JSON.parse(subject) as [key: string, last: string];
    // Their replies: nothing refers to these events afterwards.
    for (const eventId of yield* recipients.forget(tenantId, [key]))
      yield* ask.erasure.addStep(leadId, 'event', eventId);
    if (last === '') return { endpointIds: [], cost: STATEMENT_COST };
    const ids = yield* ask.erasure.forgetAuthor(tenantId, key, last, SIGNALS_AT_ONCE);
    yield* addSteps(leadId, [['signal', ids]]);
    return {
      endpointIds: [],
      cost: STATEMENT_COST + 12 * ids.length,
      remains: ids.length === SIGNALS_AT_ONCE,
    };
  }

  function* forgetMoves({ leadId }: Erasing): Script<StepResult> {
    const count = yield* ask.leads.deleteMoves(leadId, MOVES_AT_ONCE);
    return { endpointIds: [], cost: 6 * count, remains: count === MOVES_AT_ONCE };
  }

  function* detach({ leadId }: Erasing): Script<StepResult> {
    const count = yield* leadSignals.detach(leadId, SIGNALS_AT_ONCE);
    return { endpointIds: [], cost: 60 * count, remains: count === SIGNALS_AT_ONCE };
  }

  function* eraseOwn(erasing: Erasing, id: string): Script<StepResult> {
    const { tenantId, leadId, reindexing } = erasing;
    const row = yield* ask.erasure.selectSignal(id, tenantId);
    if (row === undefined) return NOTHING;
    const { wire, explanation } = eraseSignal(row, leadId);
    // With another of its keys: it is emptied already.
    if (row.text === '' && wire === row.wire && explanation === row.explanation)
      return { endpointIds: [], cost: row.wire.length + row.explanation.length };
    if (yield* leaveSearch(erasing, 'signal', { id, ...row })) return PIECE;
    yield* knownSignals.forget(id);
    yield* reindexing.leave(id);
    yield* ask.erasure.emptySignal(wire, explanation, id);
    yield* ask.erasure.emptyFeedback(id);
    // Read only now that nothing more can be added: an edit of the post no longer finds the signal.
    for (const eventId of yield* events.about([id])) yield* ask.erasure.addStep(leadId, 'event', eventId);
    const cost = INDEX_COST + row.text.length + row.wire.length + row.explanation.length;
    return { endpointIds: [], cost };
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

  function* maskSignal(erasing: Erasing, id: string): Script<StepResult> {
    const row = yield* ask.erasure.selectSignal(id, erasing.tenantId);
    if (row === undefined) return NOTHING;
    if (yield* leaveSearch(erasing, 'naming_signal', { id, ...row })) return PIECE;
    const { eventIds, keepsNames } = yield* mask.signal(erasing, id);
    for (const eventId of eventIds)
      yield* ask.erasure.addStep(erasing.leadId, keepsNames ? 'event_of_namesake' : 'naming_event', eventId);
    const length = row.text.length + row.wire.length + row.explanation.length;
    return { endpointIds: [], cost: INDEX_COST + 2 * length + eventIds.length * STATEMENT_COST };
  }

  function* maskEvent(erasing: Erasing, eventId: string, keepsNames: boolean): Script<StepResult> {
    const { texts, names } = erasing.mentions;
    const length = yield* mask.event(eventId, { texts, names: keepsNames ? [] : names });
    if (length === 0) return NOTHING;
    const bodies = { eventId, after: '', masked: [], keepsNames };
    const { endpointIds, cost } = yield* maskBodies(erasing, bodies, PIECE_COST - length);
    return { endpointIds, cost: length + cost };
  }

  /** A body may have 0.3 MB, an event thousands of them. */
  function* maskBodies({ leadId, mentions }: Erasing, of: NamedBodies, most: number): Script<StepResult> {
    const { deliveryIds, endpointIds, characters, next } = yield* mask.bodies(of, mentions, {
      most,
      limit: DELIVERIES_AT_ONCE,
    });
    for (const each of deliveryIds) yield* ask.events.emptyReplies(each);
    if (next !== null) yield* ask.erasure.addStep(leadId, 'naming_bodies', JSON.stringify(next));
    return { endpointIds, cost: characters + (1 + deliveryIds.length) * STATEMENT_COST };
  }

  function* maskLead({ tenantId, leadId, mentions }: Erasing, id: string): Script<StepResult> {
    const characters = yield* mask.lead(tenantId, id, mentions);
    yield* ask.erasure.addStep(leadId, 'naming_moves', JSON.stringify([id, 0]));
    return { endpointIds: [], cost: characters + 10 * STATEMENT_COST };
  }

  function* maskMoves({ leadId, mentions }: Erasing, subject: string): Script<StepResult> {
    const [id, after] = JSON.parse(subject) as [id: string, after: number];
    const next = yield* mask.moves(id, after, mentions);
    if (next === null) return { endpointIds: [], cost: STATEMENT_COST };
    yield* ask.erasure.addStep(leadId, 'naming_moves', JSON.stringify([id, next]));
    return PIECE;
  }

  function* answers({ tenantId, leadId, mentions }: Erasing, place: string): Script<StepResult> {
    // Last of all: a response that is stored in the meantime may contain a signal that is not erased yet.
    if (place === FIRST_ANSWER && (yield* ask.erasure.selectSteps(leadId, 2)).length > 1) {
      yield* ask.erasure.addStep(leadId, 'answers', place);
      return NOTHING;
    }
    const texts: string[] = JSON.parse((yield* ask.erasure.selectTexts(leadId)) ?? '[]');
    const next = yield* eraseAnswers(tenantId, { texts, mentions, after: JSON.parse(place) });
    if (next !== null) yield* ask.erasure.addStep(leadId, 'answers', JSON.stringify(next));
    return { endpointIds: [], cost: PIECE_COST };
  }

  return function* (
    erasing: Erasing,
    { kind, subject }: Pick<ErasureStep, 'kind' | 'subject'>,
  ): Script<StepResult> {
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
      case 'author':
        return yield* forgetKey(erasing, subject);
      case 'moves':
        return yield* forgetMoves(erasing);
      case 'attachments':
        return yield* detach(erasing);
      case 'attached':
        yield* leadSignals.hideLead(subject, erasing.leadId);
        return { endpointIds: [], cost: 10 * STATEMENT_COST };
      case 'naming_signal':
        return yield* maskSignal(erasing, subject);
      case 'naming_lead':
        return yield* maskLead(erasing, subject);
      case 'naming_moves':
        return yield* maskMoves(erasing, subject);
      case 'naming_event':
        return yield* maskEvent(erasing, subject, false);
      case 'event_of_namesake':
        return yield* maskEvent(erasing, subject, true);
      case 'naming_bodies':
        return yield* maskBodies(erasing, JSON.parse(subject), PIECE_COST);
      case 'answers':
        return yield* answers(erasing, subject);
    }
  };
}
