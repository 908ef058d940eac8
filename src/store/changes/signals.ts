import { toIso } from '../../lib/clock.ts';
import type { Lead } from '../../model/lead.ts';
import { attachSignals, type Rescored } from '../../model/lead-score.ts';
import type { Signal, SignalView } from '../../model/signal.ts';
import { editedSignal } from '../../rules/signals.ts';
import { searchedFacts } from '../../rules/words.ts';
import type { Asks, Script, Scripts } from '../script.ts';
import type {
  CommittedSignal,
  EditedSignal,
  NewSignal,
  OutdatedSignal,
  SignalEdit,
  SignalStore,
} from '../signal-store.ts';
import { type CompanyStatements, createCompanyObserver } from './companies.ts';
import { createEventWriter } from './events.ts';
import {
  createKnownSignals,
  type FindKnownSignal,
  findKeySharers,
  type KeySharers,
  type KnownSignalStatements,
} from './known-signals.ts';
import { createLeadRow, createLeadScore, type LeadStatements } from './lead-rows.ts';
import type { RequestStatements } from './requests.ts';

export interface SignalStatements
  extends LeadStatements,
    CompanyStatements,
    KnownSignalStatements,
    RequestStatements {
  signals: {
    saveFeedback(row: Record<string, unknown>): boolean;
    askForLesson(signalId: string, tenantId: string): void;
    selectRelevant(signalId: string): number | undefined;
    countRelevant(more: number, signalId: string): void;
    pruneNearKeys(before: number, limit: number): number;
    insert(row: Record<string, unknown>): void;
    insertAuthor(tenantId: string, key: string, id: string): void;
    selectOutdated(row: Record<string, unknown>): OutdatedSignal[];
    selectEdited(row: Record<string, unknown>): StoredRow | undefined;
    updateEdited(row: Record<string, unknown>): void;
    moveFeedback(id: string): void;
    moveToEnd(now: number, id: string): void;
    selectToldHot(id: string): number | undefined;
    /** Some of them, as long as there are any. */
    selectOfPlatform(tenantId: string, platform: string): string[];
    selectOwn(id: string, tenantId: string): string | undefined;
    removeFeedback(id: string): void;
    countIrrelevant(id: string): void;
    removePeople(id: string): void;
    leave(id: string): string | undefined;
    remove(id: string): void;
    /** Adds a stored signal to the search index. */
    enterIndex(id: string): void;
    /** To be called before its searchable data changes. */
    leaveIndex(id: string): void;
    /** Does part of {@link leaveIndex} in advance; returns whether words of the signal remain in the index. */
    leaveIndexPartly(id: string): boolean;
    /** A signal whose removal from the index has started, and has not continued since `markStalled`. */
    selectStalled(): string | undefined;
    /** Null: all signals whose removal has started. */
    markStalled(id: string | null): void;
    /** {@link enterIndex} for the signal inserted by the previous statement. */
    enterIndexAsInserted(signal: NewSignal): void;
    addTriage(ids: string, tenantId: string): void;
    updateTriage(row: Record<string, unknown>): number;
    /** Opens a signal that is done because it was attached to a lead. */
    reopen(id: string): void;
    saveView(view: SignalView): boolean;
    deleteView(id: string, tenantId: string): boolean;
    saveReplyTemplate(tenantId: string, template: string): void;
  };
}

export function signalChanges(ask: Asks<SignalStatements>, write: SignalWriter) {
  const beginAdoption = createAdoption(ask);
  const edits = createSignalEdits(ask);
  const remover = createSignalRemover(ask);

  return {
    *commitSignals(signals: NewSignal[]): Script<CommittedSignal[]> {
      const all: CommittedSignal[] = [];
      const sharers = yield* findKeySharers(ask, signals);
      const { shownWith, adopt, finish } = yield* beginAdoption(signals);
      for (const given of signals) {
        const signal = yield* shownWith(given);
        const committed = yield* write(signal, sharers);
        const outdated = signal.asksForOutdated ? yield* edits.outdatedBy(signal) : [];
        if (committed.status === 'created') yield* adopt(signal);
        const wire = signal.omitsWire ? '' : committed.wire;
        all.push({ ...committed, wire, ...(outdated.length > 0 && { outdated }) });
      }
      yield* finish();
      return all;
    },
    editSignals: edits.editSignals,
    *leaveSearch({ id, tenantId, text }) {
      const row = yield* ask.knownSignals.selectText(id);
      if (row === undefined || row.tenantId !== tenantId || row.text === text) return false;
      return yield* ask.signals.leaveIndexPartly(id);
    },
    *restoreSearch() {
      const id = yield* ask.signals.selectStalled();
      if (id === undefined) {
        yield* ask.signals.markStalled(null);
        return false;
      }
      if (yield* ask.signals.leaveIndexPartly(id)) {
        yield* ask.signals.markStalled(id);
        return true;
      }
      yield* ask.signals.leaveIndex(id);
      yield* ask.signals.enterIndex(id);
      return true;
    },
    *triageSignals(tenantId, ids, { assignee = null, snoozedUntil, added = false }) {
      const all = JSON.stringify(ids);
      yield* ask.signals.addTriage(all, tenantId);
      const snoozes = snoozedUntil === undefined ? 0 : 1;
      const until = snoozedUntil ?? null;
      const row = { assignee, snoozes, snoozedUntil: until, adds: added ? 1 : 0, ids: all, tenantId };
      return yield* ask.signals.updateTriage(row);
    },
    *saveSignalView(view) {
      yield* ask.signals.saveView(view);
    },
    deleteSignalView: (tenantId, id) => ask.signals.deleteView(id, tenantId),
    saveReplyTemplate: (tenantId, template) => ask.signals.saveReplyTemplate(tenantId, template),
    pruneNearKeys: (before, limit) => ask.signals.pruneNearKeys(before, limit),
    removeSignalsOf: remover.removeOfPlatform,
    *saveFeedback(feedback) {
      const relevant = feedback.relevant ? 1 : 0;
      const before = (yield* ask.signals.selectRelevant(feedback.signalId)) ?? 0;
      if (!(yield* ask.signals.saveFeedback({ ...feedback, relevant }))) return false;
      yield* ask.signals.askForLesson(feedback.signalId, feedback.tenantId);
      if (relevant !== before) yield* ask.signals.countRelevant(relevant - before, feedback.signalId);
      return true;
    },
  } satisfies Scripts<SignalStore>;
}

export type SignalChanges = ReturnType<typeof signalChanges>;

/** Stores a signal with its terms, author keys, company and events, unless it is a duplicate: part of a change. */
export type SignalWriter = (signal: NewSignal, sharers?: KeySharers) => Script<CommittedSignal>;

export function createSignalWriter(ask: Asks<SignalStatements>, findKnown: FindKnownSignal): SignalWriter {
  const knownSignals = createKnownSignals(ask);
  const observeCompany = createCompanyObserver(ask);
  const insertRouted = createEventWriter(ask);

  return function* (signal, sharers) {
    const { events, personKeys, company, ...rest } = signal;
    const { nearKeys: _keys, asksForOutdated: _asks, omitsWire: _omits, ...columns } = rest;
    // Checked in the transaction that stores it, including earlier ones of the same change: no duplicate can be missed.
    const known = yield* findKnown(signal, sharers);
    if (known !== null) {
      const wire = known.elsewhere ? yield* knownSignals.addPlace(known, signal) : known.wire;
      return { status: 'duplicate', id: known.id, wire };
    }
    yield* ask.signals.insert(columns);
    yield* ask.signals.enterIndexAsInserted(signal);
    yield* knownSignals.add(signal);
    sharers?.add(signal);
    for (const key of personKeys) yield* ask.signals.insertAuthor(signal.tenantId, key, signal.id);
    if (company !== null) yield* observeCompany(signal, company);
    for (const each of events) yield* insertRouted(each);
    return { status: 'created', id: signal.id, wire: signal.wire };
  };
}

/** Signals that change in one transaction: they leave the search index, and enter it again together. */
export interface Reindexing {
  /** Before its searchable data changes. */
  leave(id: string): Script<void>;
  /** Whether the signal has left the index. */
  hasLeft(id: string): boolean;
  /** After all changes. */
  enterAll(): Script<void>;
}

/** Together, because FTS5 writes a segment of its own when a row enters after one left: 1 ms for each, and more the more there are. */
export function createReindexings(ask: Asks<SignalStatements>): () => Reindexing {
  return () => {
    const left = new Set<string>();
    return {
      *leave(id) {
        if (!left.has(id)) yield* ask.signals.leaveIndex(id);
        left.add(id);
      },
      hasLeft: (id) => left.has(id),
      *enterAll() {
        for (const id of [...left].sort()) yield* ask.signals.enterIndex(id); // FTS5 writes a segment when numbers decrease, too
        left.clear();
      },
    };
  };
}

interface StoredRow {
  wire: string;
  text: string;
  leadId: string | null;
}

/** The edits of one change. */
interface Editing {
  /** Edits of signals, by their lead. */
  leads: Map<string, { tenantId: string; edits: Rescored[]; now: number }>;
  reindexing: Reindexing;
}

/** Stored signals of edited posts. */
function createSignalEdits(ask: Asks<SignalStatements>) {
  const knownSignals = createKnownSignals(ask);
  const observeCompany = createCompanyObserver(ask);
  const scoreLead = createLeadScore(ask);
  const insertRouted = createEventWriter(ask);
  const beginReindexing = createReindexings(ask);

  function* edit({ signal, now }: SignalEdit, { leads, reindexing }: Editing): Script<EditedSignal> {
    const { id, tenantId, externalId, personKeys, nearKeys, company, events, ...scored } = signal;
    const row = yield* ask.signals.selectEdited({ id, tenantId, externalId });
    // Deleted or erased in the meantime, or already edited by another request.
    if (row === undefined || row.text === signal.text) {
      return { id, wire: row?.wire ?? null, isChanged: false, isHotNow: false };
    }
    const before = JSON.parse(row.wire) as Signal;
    const after = editedSignal(before, JSON.parse(signal.wire) as Signal);
    const wire = JSON.stringify(after);
    const { signalType, classification, score, canonicalUrl, explanation, text } = scored;
    const columns = { signalType, classification, score, canonicalUrl, explanation, text };
    yield* knownSignals.forgetText(id);
    yield* reindexing.leave(id);
    yield* ask.signals.updateEdited({ ...columns, companyDomain: after.company.domain, wire, id });
    yield* knownSignals.add({ id, nearKeys });
    yield* ask.signals.moveFeedback(id);
    yield* ask.signals.moveToEnd(now, id);
    for (const key of personKeys) yield* ask.knownSignals.insertPerson(tenantId, key, id);
    if (company !== null) yield* observeCompany({ ...signal, facts: searchedFacts(after), wire }, company);
    if (row.leadId !== null) {
      yield* ask.leads.rescoreSignal(score, classification, id);
      const edits = leads.get(row.leadId)?.edits ?? [];
      edits.push({ before, after });
      leads.set(row.leadId, { tenantId, edits, now });
    }
    const isHotNow =
      classification === 'hot' &&
      before.classification !== 'hot' &&
      (yield* ask.signals.selectToldHot(id)) === undefined;
    if (isHotNow) for (const each of events) yield* insertRouted(each);
    return { id, wire, isChanged: true, isHotNow };
  }

  return {
    /** The stored signals of this post, for any profile that was not deleted, whose text differs from the current one. */
    *outdatedBy({ tenantId, platform, externalId, text }: NewSignal): Script<OutdatedSignal[]> {
      if (externalId === null) return [];
      return yield* ask.signals.selectOutdated({ tenantId, platform, externalId, text });
    },
    *editSignals(edits: SignalEdit[]): Script<EditedSignal[]> {
      const edited: EditedSignal[] = [];
      const leads: Editing['leads'] = new Map();
      const reindexing = beginReindexing();
      for (const each of edits) edited.push(yield* edit(each, { leads, reindexing }));
      yield* reindexing.enterAll();
      // Once for each lead, which may have 90 KB.
      for (const [leadId, { tenantId, edits: own, now }] of leads)
        yield* scoreLead.afterEdits(tenantId, leadId, own, now);
      return edited;
    },
  };
}

/** Deletes signals with their feedback and search terms. Facts about companies stay. */
export function createSignalRemover(ask: Asks<SignalStatements>) {
  const knownSignals = createKnownSignals(ask);
  const scoreLead = createLeadScore(ask);

  function* removeRow(id: string): Script<void> {
    yield* ask.signals.removeFeedback(id);
    yield* ask.signals.removePeople(id);
    yield* knownSignals.forget(id);
    yield* ask.signals.leaveIndex(id);
    yield* ask.signals.remove(id);
  }

  return {
    /** Deletes a tenant's unattached signals from a platform that have an external id; returns their number. */
    *removeOfPlatform(tenantId: string, platform: string): Script<number> {
      let count = 0;
      for (;;) {
        const ids = yield* ask.signals.selectOfPlatform(tenantId, platform);
        if (ids.length === 0) return count;
        for (const each of ids) yield* removeRow(each);
        count += ids.length;
      }
    },
    /** Deletes one signal; its lead, if any, is scored by the remaining ones. False if there is no such signal. */
    *removeOne(tenantId: string, id: string, now: number): Script<boolean> {
      if ((yield* ask.signals.selectOwn(id, tenantId)) === undefined) return false;
      yield* ask.signals.countIrrelevant(id);
      const leadId = yield* ask.signals.leave(id);
      yield* removeRow(id);
      if (leadId !== undefined) yield* scoreLead.again(tenantId, leadId, now);
      return true;
    },
  };
}

/** Attaches the newly stored signals of one change to their authors' leads. */
interface Adoption {
  /** The signal as it is shown once it is stored: with its lead. If its keys match two leads, it stays unattached. */
  shownWith(signal: NewSignal): Script<NewSignal>;
  /** Attaches a signal that was stored with its lead. Nobody has seen it yet, so it stays open. */
  adopt(signal: NewSignal): Script<void>;
  /** Stores the scores of the leads: once each, because a lead may have 90 KB. */
  finish(): Script<void>;
}

/** The holders of all keys are looked up first, because each statement is a round trip on PostgreSQL. */
function createAdoption(ask: Asks<SignalStatements>): (signals: readonly NewSignal[]) => Script<Adoption> {
  const leadRow = createLeadRow(ask);

  /** The leads with keys of the authors, by tenant and key. */
  function* findHolders(
    signals: readonly NewSignal[],
  ): Script<(tenantId: string, key: string) => string | null> {
    const keys = new Map(signals.map(({ tenantId }) => [tenantId, new Set<string>()]));
    for (const { tenantId, personKeys } of signals)
      for (const key of personKeys) keys.get(tenantId)?.add(key);
    const holders = new Map<string, string | null>();
    for (const [tenantId, own] of keys) {
      if (own.size === 0) continue;
      for (const { key, leadId } of yield* ask.leads.findIdentities(tenantId, [...own]))
        holders.set(`${tenantId} ${key}`, leadId);
    }
    return (tenantId, key) => holders.get(`${tenantId} ${key}`) ?? null;
  }

  return function* (signals) {
    const holderOf = yield* findHolders(signals);
    const leads = new Map<string, Lead | null>();
    const changed = new Map<string, Lead>();

    function* leadOf({ tenantId, personKeys }: NewSignal): Script<Lead | null> {
      const ids = new Set(personKeys.map((key) => holderOf(tenantId, key)).filter((id) => id !== null));
      const [leadId] = ids;
      if (leadId === undefined || ids.size > 1) return null;
      const known = changed.get(leadId) ?? leads.get(leadId);
      if (known !== undefined) return known;
      const found = (yield* ask.leads.getLead(tenantId, leadId))?.lead ?? null;
      leads.set(leadId, found);
      return found;
    }

    return {
      *shownWith(signal) {
        const lead = yield* leadOf(signal);
        if (lead === null) return signal;
        return { ...signal, wire: JSON.stringify({ ...JSON.parse(signal.wire), lead_id: lead.id }) };
      },
      *adopt(signal) {
        const lead = yield* leadOf(signal);
        if (lead === null) return;
        const scored = attachSignals(lead, [JSON.parse(signal.wire) as Signal]);
        changed.set(lead.id, { ...scored, updated_at: toIso(signal.timestamp) });
        yield* ask.leads.attachSignal(lead.id, signal.id);
        yield* ask.signals.reopen(signal.id);
      },
      *finish() {
        for (const lead of changed.values()) yield* leadRow.update(lead);
      },
    };
  };
}
