import { requireRoom } from '../accounts/plans.ts';
import { addAll } from '../lib/lists.ts';
import { createYielder } from '../lib/yielding.ts';
import { DomainError, limitBatchTime } from '../model/errors.ts';
import type { Lead, LeadInput } from '../model/lead.ts';
import { attachSignals } from '../model/lead-score.ts';
import { personKeys } from '../model/person-keys.ts';
import type { Signal } from '../model/signal.ts';
import { EVERY_POST, type IntakeDeps, planPosts } from '../signals/plan-posts.ts';
import { type RoomLease, signalRoom } from '../signals/signal-room.ts';
import { changeUntilItHolds } from '../store/change-until-it-holds.ts';
import type { LeadChange, StoredLead } from '../store/lead-store.ts';
import type { NewSignal } from '../store/signal-store.ts';
import { commitRouted, type StateChange } from '../webhooks/fan-out.ts';
import {
  type PlannedSignal,
  reserveNothing,
  routedInCommits,
  storeSignals,
} from '../webhooks/signal-commits.ts';
import {
  type LeadCaller,
  type LeadDeps,
  newLead,
  PATIENCE_MS,
  type Patience,
  patienceOf,
  updateOf,
} from './changes.ts';
import { companyFacts, conclude } from './enrich.ts';
import { blankLead, type Fact, fillFacts, identityKeys, mergeInto } from './facts.ts';
import {
  addFactsOf,
  findMatch,
  type IncomingSignal,
  type IncomingSignals,
  incomingFacts,
  readFreeSignals,
  readSignals,
  requireIdentity,
} from './incoming.ts';

/** The result of a request. */
export interface AddedLead extends StoredLead {
  status: 'created' | 'merged';
}

/** A request with its post scored. */
interface ScoredRequest {
  /** Id of the lead, if one is created. */
  id: string;
  input: LeadInput;
  /** Signals of its post that are stored already, and those that are stored with the lead. */
  storedIds: readonly string[];
  posted: readonly NewSignal[];
  patience: Patience;
  onHandedOver(): void;
}

/** What is known about the person in a request. */
interface KnownPerson {
  facts: readonly Fact[];
  given: IncomingSignals;
  /** Stored signals without a lead, to be attached to this one. */
  free: IncomingSignal[];
}

/** A lead before and after the change, with the signals to attach. */
interface LeadDraft {
  match: StoredLead | null;
  seen: LeadChange['seen'];
  before: Lead;
  lead: Lead;
  free: IncomingSignal[];
  fresh: NewSignal[];
}

/**
 * Enriches a person and adds them to the pipeline, or merges them into their existing lead: signals, lead, history and events in
 * one commit. Of a post that matches dozens of profiles, most signals are stored before, and stay if the lead is rejected.
 * @throws DomainError `INVALID_REQUEST`, `CONFLICT` if the request matches two leads, `PLAN_REQUIRED` if the plan allows no more
 * @param onHandedOver is called on each try, once only the provider and the store have work left
 * @param waitsForRoom whether it waits for room in memory instead of throwing `UNAVAILABLE` if much work is waiting already
 */
export async function addLead(
  deps: LeadDeps,
  caller: LeadCaller,
  input: LeadInput,
  {
    patience = patienceOf(deps),
    onHandedOver = () => {},
    waitsForRoom = false,
  }: { patience?: Patience; onHandedOver?: () => void; waitsForRoom?: boolean } = {},
): Promise<AddedLead> {
  requireIdentity(input);
  const id = deps.newId('led');
  const room = signalRoom.lease(caller.tenantId, { waits: waitsForRoom });
  try {
    const { posted, storedIds } = await storeMost(deps, await planPost(deps, caller.tenantId, input, room));
    const request = { id, input, storedIds, posted, patience, onHandedOver };
    const added = await changeUntilItHolds('lead', async () => {
      const draft = await draftLead(deps, caller, request);
      return storeDraft(deps, caller, { id, draft, enriched: input.enrich, onHandedOver, room });
    });
    patience.follow(caller, added.lead.id);
    return added;
  } finally {
    room.end();
  }
}

/**
 * Stores all signals of a post but those of the last commit, if they need several: 99 of 20,000 Chinese characters in one commit made other
 * accounts' posts wait for 3.9 s. The lead's own commit stores the rest.
 */
async function storeMost(
  { store, reserve = reserveNothing }: IntakeDeps,
  planned: readonly PlannedSignal[],
): Promise<{ posted: NewSignal[]; storedIds: string[] }> {
  let posted: NewSignal[] = [];
  const storedIds: string[] = [];
  for await (const signals of routedInCommits(planned)) {
    const committed = posted.length === 0 ? [] : await storeSignals({ store, reserve }, posted);
    addAll(
      storedIds,
      committed.map(({ id }) => id),
    );
    posted = signals;
  }
  return { posted, storedIds };
}

async function planPost(
  deps: IntakeDeps,
  tenantId: string,
  { signal }: LeadInput,
  room: RoomLease,
): Promise<PlannedSignal[]> {
  if (!signal) return [];
  await requireRoom(deps, tenantId, 'signals');
  const [planned] = await planPosts(deps, tenantId, [signal], EVERY_POST, room);
  if (planned === undefined || planned.errors.length === 0) return planned?.signals ?? [];
  const errors = planned.errors.map(({ pointer = '', detail }) => ({ pointer: `/signal${pointer}`, detail }));
  throw new DomainError('INVALID_REQUEST', errors[0]?.detail ?? 'The post was rejected.', { errors });
}

async function draftLead(deps: LeadDeps, caller: LeadCaller, request: ScoredRequest): Promise<LeadDraft> {
  const { store, clock } = deps;
  const { tenantId } = caller;
  const { id, input, patience, onHandedOver } = request;
  const now = clock.now();
  const { facts, given, free } = await readKnown(deps, tenantId, request);
  const person = fillFacts(blankLead('', now), facts, now);
  const { found, seen } = await findMatch(store, tenantId, {
    person: input.enrich ? conclude(person, now) : person,
    signals: given.stored,
  });

  const before = found?.lead ?? beginLead(id, now, { input, given });
  const incoming = { source: input.source ?? '', facts, tags: input.tags, customFields: input.custom_fields };
  const merged = mergeInto(before, incoming, now);
  const concluded = input.enrich ? await enrich(deps, tenantId, merged) : merged;
  if (input.enrich && deps.enrichment) onHandedOver(); // the provider's response is awaited without blocking others
  const enriched = input.enrich ? await patience.enrich(caller, concluded) : concluded;
  const lead = attachSignals(enriched, [...free.map(({ signal }) => signal), ...given.fresh.map(signalOf)]);
  return { match: found, seen, before, lead, free, fresh: given.fresh };
}

/** Facts stated in the request, facts from its signals, and other posts by the person. */
async function readKnown(
  { store, clock }: IntakeDeps,
  tenantId: string,
  { input, storedIds, posted }: ScoredRequest,
): Promise<KnownPerson> {
  const signalIds = [...input.signal_ids, ...storedIds];
  const given = await readSignals({ store, clock }, tenantId, { signalIds, posted });
  const stated = incomingFacts(input, [
    ...given.stored.map(({ signal }) => signal),
    ...given.fresh.map(signalOf),
  ]);
  const named = new Set(given.stored.map(({ id }) => id));
  const keys = personKeys(fillFacts(blankLead('', 0), stated, 0));
  const others = (await readFreeSignals(store, tenantId, keys)).filter(({ id }) => !named.has(id));
  return {
    facts: input.enrich
      ? addFactsOf(
          stated,
          others.map(({ signal }) => signal),
        )
      : stated,
    given,
    free: [...given.stored.filter(({ leadId }) => leadId === null), ...others],
  };
}

/** Members that only a new lead takes from the request; its source defaults to the platform of its post. */
function beginLead(
  id: string,
  now: number,
  { input, given }: { input: LeadInput; given: IncomingSignals },
): Lead {
  const [platform] = [...given.stored.map(({ signal }) => signal), ...given.fresh.map(signalOf)];
  const source = input.source || (platform?.platform.name ?? '');
  return { ...blankLead(id, now), source, stage: input.stage ?? 'new' };
}

/** Facts derived from the lead's facts and from the tenant's data about the company. */
async function enrich({ store, clock }: IntakeDeps, tenantId: string, lead: Lead): Promise<Lead> {
  const now = clock.now();
  const concluded = conclude(lead, now);
  if (concluded.company.domain === '') return concluded;
  const company = await store.findCompany(tenantId, { domain: concluded.company.domain });
  return company === null ? concluded : fillFacts(concluded, companyFacts(company), now);
}

/** Null if the data it is based on has changed. A change without effect is not stored and causes no event. */
async function storeDraft(
  deps: IntakeDeps,
  caller: LeadCaller,
  {
    id,
    draft,
    enriched,
    onHandedOver,
    room,
  }: { id: string; draft: LeadDraft; enriched: boolean; onHandedOver: () => void; room: RoomLease },
): Promise<AddedLead | null> {
  const { match, seen, before, free, fresh } = draft;
  // Created by this request itself, if it was interrupted before its response and runs again.
  const status = match === null || match.lead.id === id ? 'created' : 'merged';
  if (match !== null && free.length + fresh.length === 0 && isSame(before, draft.lead)) {
    return { status, ...match };
  }
  if (match === null) await requireRoom(deps, caller.tenantId, 'leads');
  const base =
    match === null
      ? newLead(caller, draft.lead)
      : updateOf(deps, caller, { stored: match, lead: draft.lead });
  const lead = enriched ? { ...base.lead, enriched_at: base.lead.updated_at } : base.lead;
  const data = { lead_id: lead.id, previous: match?.lead ?? null, current: lead };
  const types: StateChange['type'][] = match === null ? ['lead.created'] : [];
  if (enriched) types.push('lead.enriched');
  // All facts of a new lead; `lead.enriched` is not filtered by them.
  const signals = () => [...free.map(({ signal }) => signal), ...fresh.map(signalOf)];
  const changes = types.map((type) => ({ type, subjectId: lead.id, data, signals }));
  const isStored = await commitRouted(deps, caller.tenantId, { changes, room }, (events) => {
    const change: LeadChange = {
      ...base,
      lead,
      seen,
      keys: identityKeys(lead),
      newSignals: fresh,
      attach: free.map(({ id }) => id),
      events,
    };
    const committed = deps.store.commitLead(change);
    onHandedOver();
    return committed;
  });
  if (!isStored) return null;
  const version = base.expectedVersion + 1;
  return {
    status,
    lead,
    version,
  };
}

function isSame(before: Lead, after: Lead): boolean {
  return JSON.stringify(before) === JSON.stringify(after);
}

function signalOf({ wire }: NewSignal): Signal {
  return JSON.parse(wire) as Signal;
}

/** Errors that affect one input only: if the plan allows no more leads, inputs that merge are still accepted. */
const OWN_FAULTS: readonly string[] = ['INVALID_REQUEST', 'CONFLICT', 'PLAN_REQUIRED'];

/**
 * Runs {@link addLead} for each input, with its own dependencies; an error of an input is its result. Each starts when the
 * previous one is waiting for the store, so that they share commits (100 leads on a busy machine: 0.1 s; one after the other:
 * 0.9 s). If two inputs are about one person, the first creates the lead, as expected of a batch.
 * @throws DomainError `UNAVAILABLE` if the batch takes too long; what the store already has, it still stores
 */
export async function addLeads(
  partsOf: (item: string) => LeadDeps,
  caller: LeadCaller,
  inputs: readonly LeadInput[],
): Promise<(AddedLead | DomainError)[]> {
  const lastOf = new Map<string, Promise<unknown>>();
  const results: Promise<AddedLead | DomainError>[] = [];
  const { clock } = partsOf('');
  const nextTurn = createYielder(clock);
  // Shared by all, because a hundred leads of one person wait for each other.
  const until = clock.monotonic() + PATIENCE_MS;
  const checkTime = limitBatchTime(clock);
  for (const [index, input] of inputs.entries()) {
    const keys = keysOf(input);
    const before = keys.flatMap((key) => lastOf.get(key) ?? []);
    const handedOver = Promise.withResolvers<void>();
    const waits = {
      patience: patienceOf(partsOf(String(index)), until),
      onHandedOver: handedOver.resolve,
      waitsForRoom: index > 0, // refused before anything is stored, or not at all
    };
    const result = Promise.allSettled(before).then(() =>
      addOne(partsOf(String(index)), caller, { input, waits }),
    );
    for (const key of keys) lastOf.set(key, result);
    results.push(result);
    // Read and scored one after the other: all of them in one turn would delay other requests.
    await Promise.race([handedOver.promise, result]).catch(() => {}); // reported below, with the others
    await nextTurn();
    checkTime();
  }
  const added: (AddedLead | DomainError)[] = [];
  for (const result of results) {
    added.push(await result);
    if (added.length < results.length) checkTime();
  }
  return added;
}

async function addOne(
  deps: LeadDeps,
  caller: LeadCaller,
  { input, waits }: { input: LeadInput; waits: Parameters<typeof addLead>[3] },
): Promise<AddedLead | DomainError> {
  try {
    return await addLead(deps, caller, input, waits);
  } catch (error) {
    // Anything else, such as a full disk, fails the whole batch.
    const isOwnFault = error instanceof DomainError && OWN_FAULTS.includes(error.code);
    if (isOwnFault) return error;
    throw error;
  }
}

/** Keys that show that two inputs are about the same person or post. Those known only from stored signals are checked on commit. */
function keysOf(input: LeadInput): string[] {
  const person = conclude(fillFacts(blankLead('', 0), incomingFacts(input, []), 0), 0);
  const { prospect, platform, external_id } = input.signal ?? {};
  const author = { email: prospect?.email ?? '', linkedin_url: prospect?.linkedin_url ?? '' };
  return [
    ...identityKeys(person),
    ...input.signal_ids,
    ...personKeys(author),
    ...(external_id ? [external_id] : []),
    ...(platform?.post_url ? [platform.post_url] : []),
  ];
}
