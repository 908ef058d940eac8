import { addAll } from '../lib/lists.ts';
import { createSymbols } from '../lib/symbols.ts';
import { createYielder } from '../lib/yielding.ts';
import { DomainError } from '../model/errors.ts';
import type { Page, PageRequest, Position } from '../model/filters.ts';
import type { Lead } from '../model/lead.ts';
import { isFullName, mentionPattern } from '../model/mentions.ts';
import { linkedinProfile, personKeys } from '../model/person-keys.ts';
import type { Signal } from '../model/signal.ts';
import { changeUntilItHolds, type Precondition, UNCONDITIONAL } from '../store/change-until-it-holds.ts';
import type {
  EventScan,
  FoundMentions,
  LeadErasure,
  MentionScan,
  Mentions,
  PendingErasure,
  ScannedEvents,
} from '../store/erasure-store.ts';
import type { PersonalSignal, StoredLead } from '../store/lead-store.ts';
import type { Store } from '../store/store.ts';
import type { LeadDeps } from './changes.ts';
import { requireLead, versionOf } from './changes.ts';
import { areDifferent } from './facts.ts';

/** Events, signals and leads scanned at a time, fewer if they are long, between which other requests get their turn. */
const ROWS_AT_ONCE = 50;
const ERASURES_AT_ONCE = 20;
/** An erasure that takes longer is continued in the background: a connection without a response for 120 s is closed. */
const ANSWERED_WITHIN_MS = 90_000;
/**
 * Maximum number of a person's addresses and profiles, and of their names, that are searched for in the data of others: every
 * word of it is compared with each of them. Accounts of more are not those of one person.
 */
const MOST_MENTIONS = 20;

/**
 * Erases a person: the lead, and all their data in signals, events, deliveries and stored responses. Pending deliveries are
 * discarded: a receiver has no use for a body without its person. The lead is deleted in one commit, the rest in pieces that
 * follow; if it takes too long, or the process ends in between, a job continues ({@link continueErasures}).
 * @throws DomainError `NOT_FOUND`
 */
export async function eraseLead(
  { store, clock, enrichment }: Pick<LeadDeps, 'store' | 'clock' | 'enrichment'>,
  tenantId: string,
  id: string,
  when: Precondition = UNCONDITIONAL,
): Promise<void> {
  enrichment?.forget();
  const until = clock.monotonic() + ANSWERED_WITHIN_MS;
  let swept: Swept | null = null;
  // Erasures that each continued in every turn of the event loop made it as long as a page of each of them.
  const nextTurn = createYielder(clock);
  const findPerson = createPersonSearch(store, tenantId, nextTurn);
  await changeUntilItHolds('lead', async () => {
    const stored = await requireLead(store, tenantId, id);
    when(versionOf(stored));
    const person = await findPerson(stored);
    // Scanned once, as it takes long: anything created in the meantime is found through its lead and signals.
    const mentions = mentionsOf(stored.lead, person);
    swept ??= await sweep(store, { tenantId, id, mentions, signalIds: person.signals, nextTurn });
    const hasBegun = await store.eraseLead({
      tenantId,
      leadId: id,
      expectedVersion: stored.version,
      keys: person.keys,
      authorships: person.authorships,
      lastSignal: person.lastSignal,
      signals: person.keyless,
      eventIds: swept.events.ids,
      texts: mentions.texts,
      mentions,
      mentioning: {
        signals: swept.signals.filter((found) => !person.signals.has(found)),
        leads: swept.leads.filter((found) => found !== id),
        events: swept.events.named,
      },
    } satisfies LeadErasure);
    return hasBegun || null;
  });
  await finish(store, { tenantId, leadId: id }, () => clock.monotonic() >= until);
}

/**
 * Deletes a signal, and its data in events, deliveries and stored responses, in pieces like an erasure.
 * @throws DomainError `NOT_FOUND`
 */
export async function deleteSignal(
  { store, clock }: Pick<LeadDeps, 'store' | 'clock'>,
  tenantId: string,
  id: string,
): Promise<void> {
  while (await store.leaveSearch({ id, tenantId, text: null }));
  if (!(await store.deleteSignal(tenantId, id, clock.now())))
    throw new DomainError('NOT_FOUND', `There is no signal "${id}".`);
  await finish(store, { tenantId, leadId: id }, () => false);
}

/** Continues erasures that another process started and did not finish. */
export async function continueErasures(
  { store }: Pick<LeadDeps, 'store'>,
  isStopping: () => boolean,
): Promise<void> {
  const pending = await store.listErasures(ERASURES_AT_ONCE);
  for (const erasure of pending) await finish(store, erasure, isStopping);
}

async function finish(store: Store, erasure: PendingErasure, isStopping: () => boolean): Promise<void> {
  while (!isStopping() && !(await store.continueErasure(erasure)).isDone);
}

/** A set of IDs that grows without pauses: adding 300,000 to a single Set took 79 ms. */
interface Ids {
  has(id: string): boolean;
  /** Returns whether it is new. */
  add(id: string): boolean;
}

function createIds(): Ids {
  const numbers = createSymbols();
  return {
    has: (id) => numbers.get(id) !== 0,
    add(id) {
      const before = numbers.size;
      return numbers.add(id) > before;
    },
  };
}

/** Yields when due. */
type NextTurn = () => Promise<void>;

type Author = Signal['prospect'];

interface Person {
  keys: string[];
  /** The number of signals with each of the keys, summed up. */
  authorships: number;
  /** The last ID among the signals with one of the keys. */
  lastSignal: string;
  /** The IDs of all their signals, and of those without a key. */
  signals: Ids;
  keyless: string[];
  /** Profile URLs and names of the authors that are searched for in the data of others. */
  urls: ReadonlySet<string>;
  names: ReadonlySet<string>;
}

/** A search that continues misses a signal whose ID sorts before the last one found: after so many, everything is searched again. */
const SEARCHES_CONTINUED = 9;

/**
 * Finds a person's keys and signals: the lead's own, and those found through them, since a post found by its author's email address
 * may name a profile with further posts. Posts by others are only detached. A repeated search continues where the last one
 * ended: one of a hundred thousand signals takes so long that meanwhile a person who posts often would always post again.
 */
function createPersonSearch(
  store: Store,
  tenantId: string,
  nextTurn: NextTurn,
): (of: StoredLead) => Promise<Person> {
  let signals = createIds();
  let keyless: string[] = [];
  let lastSignal = '';
  let urls = new Set<string>();
  let names = new Set<string>();
  let keys = new Set<string>();
  /** Where the last page of the lead's signals, and of each key's, begins; how many signals were found before it, and with it. */
  let ends = new Map<string, { after: Position | null; before: number; found: number }>();
  let begunWith = '';
  let continued = 0;

  const add = (signal: PersonalSignal, author: Author, lead: Lead) => {
    if (!signals.add(signal.id)) return;
    if (signal.keys.length === 0) keyless.push(signal.id);
    else if (signal.id > lastSignal) lastSignal = signal.id;
    // Keys of the author, under every URL of the post.
    for (const key of [...personKeys(author), ...signal.keys]) keys.add(key);
    if (urls.size < MOST_MENTIONS && profileTexts(author.linkedin_url).length > 0)
      urls.add(author.linkedin_url);
    if (names.size < MOST_MENTIONS) for (const name of namesIn(author.name, lead)) names.add(name);
  };

  /** All signals from that page on, page by page, with turns of the event loop in between: a person may have a hundred thousand. */
  async function* allOf(
    place: string,
    read: (page: PageRequest) => Promise<Page<PersonalSignal>>,
  ): AsyncGenerator<PersonalSignal> {
    let { after, before } = ends.get(place) ?? { after: null, before: 0 };
    do {
      const page: Page<PersonalSignal> = await read({ limit: ROWS_AT_ONCE, after });
      const found = before + page.rows.length;
      ends.set(place, { after, before, found });
      before = found;
      yield* page.rows;
      after = page.last;
      await nextTurn();
    } while (after !== null);
  }

  return async ({ lead }) => {
    const own = personKeys(lead);
    const begins = [...own, lead.company.name].join();
    if (begunWith !== begins || ++continued > SEARCHES_CONTINUED) {
      [signals, keys, ends] = [createIds(), new Set(own), new Map()];
      [keyless, lastSignal, urls, names] = [[], '', new Set(), new Set()];
      [begunWith, continued] = [begins, 0];
    }
    for await (const signal of allOf('', (page) => store.pageSignalsOfLead(lead.id, page))) {
      const author = authorOf(signal);
      if (!areDifferent(lead, author)) add(signal, author, lead);
    }
    // A set's iterator also returns what is added meanwhile, so that each key is looked up once.
    for (const key of keys) {
      for await (const signal of allOf(key, (page) => store.pageSignalsOfPerson(tenantId, key, page)))
        if (!signals.has(signal.id)) add(signal, authorOf(signal), lead);
    }
    const authorships = [...keys].reduce((sum, key) => sum + (ends.get(key)?.found ?? 0), 0);
    return { keys: [...keys], authorships, lastSignal, signals, keyless, urls, names };
  };
}

function authorOf({ wire }: PersonalSignal): Author {
  return (JSON.parse(wire) as Signal).prospect;
}

/**
 * Texts that identify the person anywhere: addresses, profiles, and full names that were stated and are not the name of a
 * company. A single word would match too many other people.
 */
function mentionsOf(lead: Lead, { keys, urls, names }: Person): Mentions {
  const addresses = keys.flatMap((key) => (key.startsWith('email:') ? [key.slice('email:'.length)] : []));
  const stated = lead.provenance.name?.source === 'email' ? [] : [lead.name];
  return {
    texts: firstOf([...addresses, lead.linkedin_url, ...urls], (text, place) =>
      place < addresses.length ? [text] : profileTexts(text),
    ),
    names: firstOf([...stated, ...names], (name) => namesIn(name, lead)),
  };
}

/** The author's name if it is a full name, and not that of the company. */
function namesIn(name: string, { company }: Lead): string[] {
  const trimmed = name.trim();
  const isCompany = trimmed.toLowerCase() === company.name.trim().toLowerCase();
  return isFullName(trimmed) && !isCompany ? [trimmed] : [];
}

function profileTexts(url: string): string[] {
  const profile = linkedinProfile(url);
  if (profile === null) return [];
  const encoded = profile.split('/').map(encodeURIComponent).join('/').toLowerCase();
  return [`linkedin.com/${profile}`, `linkedin.com/${encoded}`];
}

/** The first {@link MOST_MENTIONS} different texts of `all`, of which there may be a hundred thousand. */
function firstOf(all: Iterable<string>, textsOf: (one: string, place: number) => string[]): string[] {
  const found = new Set<string>();
  let place = 0;
  for (const one of all) {
    for (const text of textsOf(one, place)) found.add(text);
    if (found.size >= MOST_MENTIONS) break;
    place++;
  }
  return [...found].slice(0, MOST_MENTIONS);
}

/** Ids of data that names the person without being about them. */
interface Swept {
  events: { ids: string[]; named: string[] };
  signals: string[];
  leads: string[];
}

async function sweep(
  store: Store,
  who: { tenantId: string; id: string; mentions: Mentions; signalIds: Ids; nextTurn: NextTurn },
): Promise<Swept> {
  const { tenantId, id, mentions, signalIds, nextTurn } = who;
  const { texts, names } = mentions;
  return {
    events: await sweepEvents(
      store,
      { tenantId, mentions: { texts: [id, ...texts], names, signalIds } },
      nextTurn,
    ),
    signals: await sweepRows(store.findSignalsNaming, { tenantId, mentions }, nextTurn),
    leads: await sweepLeads(store, { tenantId, mentions }, nextTurn),
  };
}

async function sweepLeads(
  store: Store,
  who: Omit<MentionScan, 'after' | 'limit'>,
  nextTurn: NextTurn,
): Promise<string[]> {
  const moved: string[] = [];
  const find = async (scan: MentionScan) => {
    const found = await store.findLeadsNaming(scan);
    addAll(moved, found.moved);
    return found;
  };
  const ids = await sweepRows(find, who, nextTurn);
  const pattern = mentionPattern(who.mentions.texts, who.mentions.names);
  if (pattern === null) return ids;
  for (const id of moved) if (await isNamedInMoves(store, { id, pattern }, nextTurn)) ids.push(id);
  return ids;
}

async function isNamedInMoves(
  store: Store,
  { id, pattern }: { id: string; pattern: RegExp },
  nextTurn: NextTurn,
): Promise<boolean> {
  let after: PageRequest['after'] = null;
  do {
    const page: Page<{ reason: string }> = await store.pageStageMoves(id, { limit: ROWS_AT_ONCE, after });
    if (page.rows.some(({ reason }) => reason.search(pattern) !== -1)) return true;
    after = page.last;
    await nextTurn();
  } while (after !== null);
  return false;
}

/** Events of any kind, such as digests and replies. */
async function sweepEvents(
  store: Store,
  who: Omit<EventScan, 'after' | 'limit'>,
  nextTurn: NextTurn,
): Promise<Swept['events']> {
  const ids: string[] = [];
  const named: string[] = [];
  let after: EventScan['after'] = null;
  do {
    const found: ScannedEvents = await store.findEventsNaming({ ...who, after, limit: ROWS_AT_ONCE });
    addAll(ids, found.ids);
    addAll(named, found.named);
    after = found.last;
    await nextTurn();
  } while (after !== null);
  return { ids, named };
}

async function sweepRows(
  find: (scan: MentionScan) => Promise<FoundMentions>,
  who: Omit<MentionScan, 'after' | 'limit'>,
  nextTurn: NextTurn,
): Promise<string[]> {
  const ids: string[] = [];
  let after: MentionScan['after'] = null;
  do {
    const found: FoundMentions = await find({ ...who, after, limit: ROWS_AT_ONCE });
    addAll(ids, found.ids);
    after = found.last;
    await nextTurn();
  } while (after !== null);
  return ids;
}
