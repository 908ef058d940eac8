import { fromIso, toIso } from '../../lib/clock.ts';
import { dealStatusIn } from '../../model/constants.ts';
import type { Lead } from '../../model/lead.ts';
import { type BestOfClass, type Rescored, rescored, scoredBy } from '../../model/lead-score.ts';
import { leadWords } from '../../rules/words.ts';
import type { IdentityHolder, StoredLead } from '../lead-store.ts';
import type { Asks, Script } from '../script.ts';
import type { EventStatements } from './events.ts';

export interface LeadStatements extends EventStatements {
  leads: {
    insert(row: Record<string, unknown>): void;
    update(row: Record<string, unknown>): void;
    insertIdentity(tenantId: string, key: string, leadId: string): void;
    deleteIdentities(leadId: string): void;
    insertTag(tenantId: string, tag: string, createdAt: number, leadId: string): void;
    deleteTags(leadId: string): void;
    insertWord(tenantId: string, word: string, leadId: string): void;
    deleteWords(leadId: string): void;
    /** Up to `limit`; returns their number. */
    deleteMoves(leadId: string, limit: number): number;
    remove(id: string): void;
    selectOwner(signalId: string, tenantId: string): string | undefined;
    attachSignal(leadId: string, signalId: string): void;
    showLead(leadId: string, signalId: string): string | undefined;
    hideLead(signalId: string, leadId: string): void;
    /** Detaches up to `limit` signals; returns their ids. */
    releaseSignals(leadId: string, limit: number): string[];
    /** One for each class: a lead may have a hundred thousand signals. */
    selectBest(leadId: string): BestOfClass[];
    /** When its newest signal was detected, in Unix milliseconds. */
    selectNewest(leadId: string): number | undefined;
    /** To be called when the signal's score changes. */
    rescoreSignal(score: number, classification: string, signalId: string): void;
    getLead(tenantId: string, id: string): StoredLead | null;
    insertMove(row: Record<string, unknown>): void;
    forgetDays(day: string): void;
    countDay(row: Record<string, unknown>): boolean;
    findIdentities(tenantId: string, keys: readonly string[]): IdentityHolder[];
  };
}

/** Columns for filters, order and sums, in addition to a lead's JSON. */
function columnsOf(lead: Lead) {
  return {
    id: lead.id,
    stage: lead.stage,
    score: lead.icp_score ?? -1,
    classification: lead.classification ?? '',
    companyDomain: lead.company.domain,
    source: lead.source.toLowerCase(),
    dealCurrency: lead.deal?.currency ?? null,
    dealAmount: lead.deal?.amount_minor ?? null,
    owner: lead.owner,
    nextDue: dealStatusIn(lead.stage) === 'open' ? (lead.next_step?.due_date ?? null) : null,
    wire: JSON.stringify(lead),
  };
}

/** A lead with its identities, tags and words: parts of changes. */
export function createLeadRow(ask: Asks<LeadStatements>) {
  return {
    *insert(tenantId: string, lead: Lead): Script<void> {
      yield* ask.leads.insert({ ...columnsOf(lead), tenantId, createdAt: fromIso(lead.created_at) });
    },
    *update(lead: Lead): Script<void> {
      yield* ask.leads.update(columnsOf(lead));
    },
    *setIdentities(tenantId: string, leadId: string, keys: readonly string[]): Script<void> {
      yield* ask.leads.deleteIdentities(leadId);
      for (const key of keys) yield* ask.leads.insertIdentity(tenantId, key, leadId);
    },
    *setTags(tenantId: string, lead: Lead): Script<void> {
      yield* ask.leads.deleteTags(lead.id);
      const createdAt = fromIso(lead.created_at);
      for (const tag of lead.tags)
        yield* ask.leads.insertTag(tenantId, tag.toLowerCase(), createdAt, lead.id);
    },
    *setWords(tenantId: string, lead: Lead): Script<void> {
      yield* ask.leads.deleteWords(lead.id);
      for (const word of leadWords(lead)) yield* ask.leads.insertWord(tenantId, word, lead.id);
    },
    /** Its history is deleted and its signals are detached afterwards. */
    *remove(leadId: string): Script<void> {
      yield* ask.leads.deleteIdentities(leadId);
      yield* ask.leads.deleteTags(leadId);
      yield* ask.leads.deleteWords(leadId);
      yield* ask.leads.remove(leadId);
    },
  };
}

/** Attaches and detaches signals: parts of changes. */
export function createLeadSignals(ask: Asks<LeadStatements>) {
  return {
    /** Whether the signal can be attached: it belongs to the tenant, and to no lead. */
    *isFree(tenantId: string, signalId: string): Script<boolean> {
      return (yield* ask.leads.selectOwner(signalId, tenantId)) === '';
    },
    /** Returns the signal's JSON, which now contains the lead's id. */
    *attach(leadId: string, signalId: string): Script<string> {
      yield* ask.leads.attachSignal(leadId, signalId);
      return (yield* ask.leads.showLead(leadId, signalId)) ?? '';
    },
    /** Detaches up to `limit` signals of a deleted lead; returns their number. */
    *detach(leadId: string, limit: number): Script<number> {
      const ids = yield* ask.leads.releaseSignals(leadId, limit);
      for (const id of ids) yield* ask.leads.hideLead(id, leadId);
      return ids.length;
    },
    /** Removes the lead's id from a signal's JSON, unless it is attached to another lead. */
    hideLead: (signalId: string, leadId: string): Script<void> => ask.leads.hideLead(signalId, leadId),
  };
}

/** Scores leads again by their signals: parts of changes that alter or remove some of them. */
export function createLeadScore(ask: Asks<LeadStatements>) {
  const leadRow = createLeadRow(ask);

  function* score(lead: Lead): Script<Lead> {
    return scoredBy(lead, yield* ask.leads.selectBest(lead.id));
  }

  return {
    /** After one of its signals was removed. */
    *again(tenantId: string, leadId: string, now: number): Script<void> {
      const stored = yield* ask.leads.getLead(tenantId, leadId);
      if (stored === null) return;
      const newest = yield* ask.leads.selectNewest(leadId);
      yield* leadRow.update({
        ...(yield* score(stored.lead)),
        signal_count: stored.lead.signal_count - 1,
        last_signal_at: newest === undefined ? null : toIso(newest),
        updated_at: toIso(now),
      });
    },
    /** After edits of its signals. The best one is looked up only if the edits do not tell which it is now. */
    *afterEdits(tenantId: string, leadId: string, edits: readonly Rescored[], now: number): Script<void> {
      const stored = yield* ask.leads.getLead(tenantId, leadId);
      if (stored === null) return;
      const lead = rescored(stored.lead, edits) ?? (yield* score(stored.lead));
      yield* leadRow.update({ ...lead, updated_at: toIso(now) });
    },
  };
}
