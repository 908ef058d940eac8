import { addAll } from '../lib/lists.ts';
import { createYielder, eachInTurns } from '../lib/yielding.ts';
import { DomainError, type Fault } from '../model/errors.ts';
import type { Lead, LeadInput } from '../model/lead.ts';
import type { Signal } from '../model/signal.ts';
import type { IntakeDeps } from '../signals/plan-posts.ts';
import type { IdentityHolder, LeadSignal, StoredLead } from '../store/lead-store.ts';
import type { NewSignal } from '../store/signal-store.ts';
import type { Store } from '../store/store.ts';
import {
  areDifferent,
  blankLead,
  type Fact,
  factsOfSignal,
  fillFacts,
  identityKeys,
  isStrong,
  statedFacts,
  vouchFor,
} from './facts.ts';

/** A signal that a request attaches, parsed. */
export interface IncomingSignal {
  id: string;
  leadId: string | null;
  signal: Signal;
}

/** Signals of a request: stored ones it names, and new ones it contains. */
export interface IncomingSignals {
  stored: IncomingSignal[];
  fresh: NewSignal[];
}

/**
 * The signals that a request names or contains; already stored signals of a post it contains count as named.
 * @throws DomainError `INVALID_REQUEST` if it names an unknown signal
 */
export async function readSignals(
  { store, clock }: Pick<IntakeDeps, 'store' | 'clock'>,
  tenantId: string,
  { signalIds, posted }: { signalIds: readonly string[]; posted: readonly NewSignal[] },
): Promise<IncomingSignals> {
  const nextTurn = createYielder(clock);
  const known: (string | null)[] = [];
  for (const signal of posted) {
    addAll(known, await store.findKnownSignals([signal]));
    await nextTurn();
  }
  const ids = new Set([...signalIds, ...known.filter((id) => id !== null)]);
  const stored = await store.findLeadSignals(tenantId, [...ids]);
  const found = new Set(stored.map(({ id }) => id));
  const errors = signalIds.flatMap((id, index): Fault[] =>
    found.has(id) ? [] : [{ pointer: `/signal_ids/${index}`, detail: `There is no signal "${id}".` }],
  );
  if (errors.length > 0) {
    throw new DomainError('INVALID_REQUEST', errors[0]?.detail ?? '', { errors });
  }
  return {
    stored: await parseSignals(stored),
    fresh: posted.filter((_, index) => known[index] === null),
  };
}

/** A person may have thousands of posts: they are read together and attached to the lead in one commit. */
const MOST_FREE = 500;

/** The newest unattached signals that a person has posted. */
export async function readFreeSignals(
  store: Store,
  tenantId: string,
  keys: readonly string[],
): Promise<IncomingSignal[]> {
  return parseSignals(await store.findFreeSignalsOfPerson(tenantId, keys, MOST_FREE));
}

/** Stored signals, parsed in turns: 500 posts that were seen at sixteen places each took 0.1 s. */
function parseSignals(stored: readonly LeadSignal[]): Promise<IncomingSignal[]> {
  return eachInTurns(stored, async ({ id, leadId, wire }) => ({
    id,
    leadId,
    signal: JSON.parse(wire) as Signal,
  }));
}

/** Facts about a person in a request: stated ones first, then those from `signals` by that person. */
export function incomingFacts(input: LeadInput, signals: readonly Signal[]): Fact[] {
  return addFactsOf(vouchFor(withName(statedFacts(input)), 'request', 1), signals);
}

/** `facts`, with those of each signal whose author does not differ from the person. */
export function addFactsOf(facts: readonly Fact[], signals: readonly Signal[]): Fact[] {
  const all = [...facts];
  let person = fillFacts(blankLead('', 0), all, 0);
  for (const signal of signals) {
    // Another person's post can be attached, but contributes no facts about this person.
    if (areDifferent(person, signal.prospect)) continue;
    for (const fact of factsOfSignal(signal)) {
      const filled = fillFacts(person, [fact], 0);
      if (filled !== person) all.push(fact); // a known fact takes precedence
      person = filled;
    }
  }
  return all;
}

/** Whether the request identifies a person. @throws DomainError `INVALID_REQUEST` */
export function requireIdentity(input: LeadInput): void {
  const { name, company, ...facts } = { ...withName(statedFacts(input)), company: input.company };
  if (facts.email || facts.linkedin_url || input.signal_ids.length > 0 || input.signal) return;
  if (name && company?.domain) return;
  const detail =
    'Identify the person by "email", "linkedin_url", "name" with "company.domain", "signal_ids" or "signal".';
  const pointer = name ? '/company/domain' : company?.domain ? '/name' : '/email';
  throw new DomainError('INVALID_REQUEST', detail, { errors: [{ pointer, detail }] });
}

function withName(facts: ReturnType<typeof statedFacts>) {
  if (facts.name) return facts;
  const name = [facts.first_name, facts.last_name].filter((part) => part).join(' ');
  return { ...facts, name };
}

/** The lead that a request is about, if there is one, and the owners of identities that were read. */
export interface LeadMatch {
  found: StoredLead | null;
  seen: IdentityHolder[];
}

/**
 * Finds the lead with one of the person's identities or signals. A name at a company counts only if address and profile do not
 * contradict it, since two people may have that name.
 * @throws DomainError `CONFLICT` if there are two leads, or a signal belongs to another lead
 */
export async function findMatch(
  store: Store,
  tenantId: string,
  { person, signals }: { person: Lead; signals: readonly IncomingSignal[] },
): Promise<LeadMatch> {
  const seen = await store.findIdentities(tenantId, identityKeys(person));
  const byKey = await readLeads(
    store,
    tenantId,
    seen.map(({ leadId }) => leadId),
  );
  const bySignal = await readLeads(
    store,
    tenantId,
    signals.map(({ leadId }) => leadId),
  );
  const own = seen.flatMap(({ key, leadId }) => {
    const held = leadId === null ? undefined : byKey.get(leadId);
    return held === undefined || (!isStrong(key) && areDifferent(person, held.lead)) ? [] : [held];
  });
  const matched = new Map([...own, ...bySignal.values()].map((stored) => [stored.lead.id, stored]));
  if (matched.size > 1) throw conflict('The request matches several leads', [...matched.keys()]);
  const found = [...matched.values()][0] ?? null;
  // Matched only by a signal, and the request names another person.
  if (found !== null && own.length === 0 && areDifferent(person, found.lead)) {
    throw conflict('A signal of the request belongs to another lead', [found.lead.id]);
  }
  return { found, seen };
}

async function readLeads(
  store: Store,
  tenantId: string,
  ids: readonly (string | null)[],
): Promise<Map<string, StoredLead>> {
  const distinct = new Set(ids.filter((id) => id !== null));
  const found = await eachInTurns(distinct, (id) => store.getLead(tenantId, id));
  return new Map(found.filter((stored) => stored !== null).map((stored) => [stored.lead.id, stored]));
}

/** Names all of them, so that the caller can choose. */
export function conflict(what: string, leadIds: string[]): DomainError {
  return new DomainError('CONFLICT', `${what}: ${leadIds.join(', ')}.`, {
    hint: 'Check the leads named here. Delete one of them, or send only what identifies the lead you mean.',
    members: { lead_ids: leadIds },
  });
}
