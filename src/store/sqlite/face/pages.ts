import type { Database } from 'better-sqlite3';
import type { Clock } from '../../../lib/clock.ts';
import { addAll } from '../../../lib/lists.ts';
import { createYielder, eachInTurns } from '../../../lib/yielding.ts';
import type { Company, CompanyQuery } from '../../../model/company.ts';
import type { DeliveryStatus } from '../../../model/delivery.ts';
import type { EventRow } from '../../../model/event.ts';
import type { Position } from '../../../model/filters.ts';
import type { LeadQuery } from '../../../model/lead.ts';
import type { DeliveryKey } from '../../changes/deliveries.ts';
import type { CompanyStore } from '../../company-store.ts';
import type { DeliveryLogStore, DeliveryQuery } from '../../delivery-log-store.ts';
import type { EventStore, RecordedEvent } from '../../event-store.ts';
import type { LeadStore } from '../../lead-store.ts';
import { pageOf } from '../../pages.ts';
import { createCompanyPages, type ListedCompany, positionOfCompany } from '../reads/companies.ts';
import {
  createDeliveryPages,
  createDeliveryWalk,
  type EndpointState,
  type FewPlace,
  isInRange,
  type LoggedTerms,
  newestFirst,
  type WaitingDelivery,
} from '../reads/deliveries.ts';
import { createEventPages, type EventKey } from '../reads/events.ts';
import { createLeadPages, type LeadKey, type LeadTerm, positionOfLead, soughtWords } from '../reads/leads.ts';

type Read = <T>(query: () => T) => Promise<T>;

/**
 * Up to this number, waiting deliveries are sorted in memory (about 10 ms); with more, a scan by time finds them soon
 * enough.
 */
const MOST_SORTED = 5_000;
/** Deliveries scanned at a time: few at first, because the first page is usually near. */
const FIRST_SCAN = 500;
const LARGEST_SCAN = 4_000;
/** Maximum number of empty stretches in commit order before an empty page is returned. */
const MOST_STRETCHES = 20;

/** Pages of deliveries: some are read at once, others by a scan that yields between its parts. */
export function deliveryPageFace(
  db: Database,
  clock: Clock,
  read: Read,
): Pick<DeliveryLogStore, 'listDeliveries' | 'listStoredDeliveries'> {
  const log = createDeliveryPages(db);
  const walk = createDeliveryWalk(db);

  /** All waiting deliveries of a tenant's endpoints in this state, unordered; null if there are too many to sort. */
  async function waitingIn(tenantId: string, state: EndpointState): Promise<WaitingDelivery[] | null> {
    const nextTurn = createYielder(clock);
    const rows: WaitingDelivery[] = [];
    for (let after: string | null = ''; after !== null; ) {
      const place: string = after;
      const limit = MOST_SORTED + 1 - rows.length;
      const part = await read(() => log.waitingAfter(place, { tenantId, state, limit }));
      addAll(rows, part.rows);
      if (rows.length > MOST_SORTED) return null;
      after = part.next;
      await nextTurn();
    }
    return rows;
  }

  /** The keys of a page and one more, newest first; null if they require a scan. */
  async function sortedKeys(tenantId: string, query: DeliveryQuery): Promise<DeliveryKey[] | null> {
    const { endpointId, status, eventType } = query;
    const waiting = waitingTerms(status);
    if (waiting === null) return null;
    const rows =
      endpointId === null
        ? await waitingIn(tenantId, waiting.endpoint)
        : await read(() => log.waitingOf(endpointId, waiting.endpoint, MOST_SORTED + 1));
    if (rows === null || rows.length > MOST_SORTED) return null;
    return rows
      .filter((row) => waiting.stored.includes(row.status))
      .filter((row) => (eventType === null || row.eventType === eventType) && isInRange(row, query))
      .sort(newestFirst);
  }

  /** The same, of one event or subject: usually few, but a lead that is moved a thousand times has thousands. */
  async function keysOfFew(tenantId: string, query: DeliveryQuery): Promise<DeliveryKey[]> {
    const nextTurn = createYielder(clock);
    let newest: DeliveryKey[] = [];
    for (let place: FewPlace | null = { row: 0, id: '' }; place !== null; ) {
      const after: FewPlace = place;
      const { found, next } = await read(() => log.ofFew(tenantId, query, after));
      if (found.length > 0) newest = [...newest, ...found].sort(newestFirst).slice(0, query.limit + 1);
      place = next;
      await nextTurn();
    }
    return newest;
  }

  function walkTerms(tenantId: string, query: DeliveryQuery): LoggedTerms {
    const { endpointId, status, eventType, from, to } = query;
    const waiting = waitingTerms(status);
    return {
      ...{ tenantId, endpointId, eventType, from, to, direction: 'DESC' },
      statuses: waiting?.stored ?? (status === null ? null : [status]),
      endpointState: waiting?.endpoint ?? null,
    };
  }

  async function walkedKeys(tenantId: string, query: DeliveryQuery): Promise<DeliveryKey[]> {
    const nextTurn = createYielder(clock);
    const terms = walkTerms(tenantId, query);
    const wanted = query.limit + 1;
    const keys: DeliveryKey[] = [];
    let after = toKey(query.after);
    for (let scan = FIRST_SCAN; ; scan = Math.min(scan * 4, LARGEST_SCAN)) {
      const part = await read(() => walk(terms, after, { scan, limit: wanted - keys.length }));
      addAll(keys, part.found);
      if (part.next === null || keys.length === wanted) return keys;
      after = part.next;
      await nextTurn();
    }
  }

  return {
    async listStoredDeliveries(tenantId, query) {
      const nextTurn = createYielder(clock);
      let part = await read(() => log.findStored(tenantId, query));
      for (let stretch = 1; stretch < MOST_STRETCHES && part.ids.length === 0 && part.hasMore; stretch++) {
        await nextTurn();
        const after = part.next;
        part = await read(() => log.findStored(tenantId, { ...query, after }));
      }
      const { ids, next, hasMore } = part;
      const rows = await read(() => ids.flatMap(log.listed));
      return { count: rows.length, rows, next, hasMore };
    },
    async listDeliveries(tenantId, query) {
      const { endpointId, limit } = query;
      if (endpointId !== null && !(await read(() => log.belongsTo(endpointId, tenantId)))) {
        return { rows: [], last: null };
      }
      const isOfFew = (query.eventId ?? query.subjectId ?? null) !== null;
      const sorted = isOfFew ? await keysOfFew(tenantId, query) : await sortedKeys(tenantId, query);
      const keys = sorted ?? (await walkedKeys(tenantId, query));
      const { rows, last } = pageOf(keys, limit, {
        toRow: ({ id }) => id,
        position: (key) => [key.createdAt, key.id],
      });
      return { rows: await read(() => rows.flatMap(log.listed)), last };
    },
  };
}

/** The stored states behind a displayed state of waiting deliveries, and the state of their endpoint. */
function waitingTerms(
  status: DeliveryStatus | null,
): { stored: DeliveryStatus[]; endpoint: EndpointState } | null {
  if (status === 'held') return { stored: ['pending', 'retrying'], endpoint: 'paused' };
  if (status === 'pending' || status === 'retrying') return { stored: [status], endpoint: 'active' };
  return null;
}

function toKey(position: Position | null): DeliveryKey | null {
  return position === null ? null : { createdAt: Number(position[0] ?? 0), id: String(position[1] ?? '') };
}

/** Characters of rows that are read at a time: about 2 ms. */
const ROW_CHARACTERS = 100_000;

/** Reads the rows of a page, which may be long, a few at a time. `one` returns null for a row that has been removed since. */
export async function readInParts<K, T>(
  keys: readonly K[],
  { clock, read, one, length }: { clock: Clock; read: Read; one(key: K): T | null; length(row: T): number },
): Promise<T[]> {
  const nextTurn = createYielder(clock);
  const rows: T[] = [];
  let next = 0;
  const readPart = () => {
    for (let characters = 0; next < keys.length && characters < ROW_CHARACTERS; ) {
      const row = one(keys[next++] as K);
      if (row === null) continue;
      rows.push(row);
      characters += length(row);
    }
  };
  while (next < keys.length) {
    await read(readPart);
    await nextTurn();
  }
  return rows;
}

/**
 * Pages of events: each event has an outcome per endpoint, so a page is read in pieces, between which other requests
 * run.
 */
export function eventPageFace(
  db: Database,
  clock: Clock,
  read: Read,
): Pick<EventStore, 'listEvents' | 'listStoredEvents' | 'listEventsAbout'> {
  const pages = createEventPages(db);

  /** Reads the outcomes of one event after the other, about 2 ms each. */
  const withOutcomes = (rows: readonly EventRow[]) =>
    eachInTurns(rows, (row) => read(() => pages.withOutcomes(row)));

  async function wholeEvents(keys: readonly EventKey[]): Promise<RecordedEvent[]> {
    const one = pages.withData;
    return withOutcomes(await readInParts(keys, { clock, read, one, length: ({ data }) => data.length }));
  }

  return {
    async listEvents(tenantId, query) {
      const found = await read(() => pages.find(tenantId, query, query.limit + 1));
      const { rows, last } = pageOf(found, query.limit, {
        toRow: (event) => event,
        position: (event) => [event.createdAt, event.id],
      });
      return { rows: await wholeEvents(rows), last };
    },
    async listStoredEvents(tenantId, query) {
      const { rows, ...end } = await read(() => pages.findStored(tenantId, query));
      return { count: rows.length, rows: await wholeEvents(rows), ...end };
    },
    listEventsAbout: async (tenantId, subjectId, limit) =>
      withOutcomes(await read(() => pages.about(tenantId, subjectId, limit))),
  };
}

/** Leads scanned at a time, if a single condition is checked for each: about 1 ms. */
const FIRST_LEADS = 200;
const MOST_LEADS = 500;

/**
 * Pages of leads: the few that have a rare value are found at once, others by a scan; it yields between its parts, and so do checking
 * the few, five hundred of which took 0.1 s for two hundred words, and reading the leads that were found.
 */
export function leadPageFace(db: Database, clock: Clock, read: Read): Pick<LeadStore, 'listLeads'> {
  const pages = createLeadPages(db);

  const atOnce = ({ q }: LeadQuery, scan: number) =>
    Math.max(10, Math.floor(scan / (soughtWords(q).length + 1)));

  async function sorted(tenantId: string, query: LeadQuery, rarest: LeadTerm): Promise<LeadKey[]> {
    const nextTurn = createYielder(clock);
    const few = await read(() => pages.few(tenantId, query, rarest));
    const size = atOnce(query, MOST_LEADS);
    const rows: LeadKey[] = [];
    for (let from = 0; from < few.length && rows.length < query.limit; from += size) {
      await nextTurn();
      const rest = { ...query, limit: query.limit - rows.length };
      addAll(rows, await read(() => pages.among(tenantId, rest, few.slice(from, from + size))));
    }
    return rows;
  }

  async function walked(tenantId: string, query: LeadQuery): Promise<LeadKey[]> {
    const nextTurn = createYielder(clock);
    const rows: LeadKey[] = [];
    let after = query.after;
    for (let scan = FIRST_LEADS; ; scan = Math.min(scan * 4, MOST_LEADS)) {
      const rest = { ...query, after, limit: query.limit - rows.length };
      const part = await read(() => pages.walk(tenantId, rest, atOnce(query, scan)));
      addAll(rows, part.found);
      if (part.next === null || rows.length === query.limit) return rows;
      after = part.next;
      await nextTurn();
    }
  }

  return {
    async listLeads(tenantId, query) {
      if (query.q !== null && soughtWords(query.q).length === 0) return { rows: [], last: null };
      const withNext = { ...query, limit: query.limit + 1 };
      const rarest = await read(() => pages.rarest(tenantId, query));
      const keys = await (rarest === null ? walked(tenantId, withNext) : sorted(tenantId, withNext, rarest));
      const { rows, last } = pageOf(keys, query.limit, {
        toRow: ({ id }) => id,
        position: (key) => positionOfLead(key, query),
      });
      const one = (id: string) => pages.wireOf(tenantId, id);
      const wires = await readInParts(rows, { clock, read, one, length: (wire) => wire.length });
      return { rows: wires, last };
    },
  };
}

/** Companies scanned at a time: at most about 5 ms. */
const FIRST_COMPANIES = 500;
const MOST_COMPANIES = 4_000;

/** Pages of companies: those with given domains are read at once, others by a scan that yields between its parts. */
export function companyPageFace(db: Database, clock: Clock, read: Read): Pick<CompanyStore, 'listCompanies'> {
  const pages = createCompanyPages(db);

  async function walked(tenantId: string, query: CompanyQuery): Promise<ListedCompany[]> {
    const nextTurn = createYielder(clock);
    const companies: ListedCompany[] = [];
    let after = query.after;
    for (let scan = FIRST_COMPANIES; ; scan = Math.min(scan * 2, MOST_COMPANIES)) {
      const rest = { ...query, after, limit: query.limit - companies.length };
      const part = await read(() => pages.walk(tenantId, rest, scan));
      addAll(companies, part.found);
      if (part.next === null || companies.length === query.limit) return companies;
      after = part.next;
      await nextTurn();
    }
  }

  return {
    async listCompanies(tenantId, query) {
      const withNext = { ...query, limit: query.limit + 1 };
      const found =
        query.domains.length > 0
          ? await read(() => pages.ofDomains(tenantId, withNext))
          : await walked(tenantId, withNext);
      return pageOf(found, query.limit, {
        toRow: ({ activeAt: _, ...company }): Company => company,
        position: (company) => positionOfCompany(company, query),
      });
    },
  };
}
