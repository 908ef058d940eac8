import type { Database } from 'better-sqlite3';
import { type Clock, DAY_MS, fromIso, toIso } from '../../../lib/clock.ts';
import { addAll } from '../../../lib/lists.ts';
import { createYielder } from '../../../lib/yielding.ts';
import { dealStatusIn, STAGES } from '../../../model/constants.ts';
import type { Lead } from '../../../model/lead.ts';
import type { Stage } from '../../../model/pipeline.ts';
import type { Signal } from '../../../model/signal.ts';
import { contactsOf } from '../../../rules/signals.ts';
import type { CompanyStore } from '../../company-store.ts';
import type { EndpointStore } from '../../endpoint-store.ts';
import type { BatchStore } from '../../event-store.ts';
import type { BoardColumn, LeadSignal, LeadStore, StageFlow } from '../../lead-store.ts';
import type { DigestStore, MailStore } from '../../mail-store.ts';
import type { SignalDay, SignalStore, StoredPost } from '../../signal-store.ts';
import { type CompanySpan, createCompanyScans } from '../reads/companies.ts';
import { createEndpointCount } from '../reads/endpoints.ts';
import { type BatchedEvent, createBatchScans } from '../reads/events.ts';
import { bestFirst, createPersonSignalScans, type RankedSignal } from '../reads/lead-signals.ts';
import { createBoardScans, createFlowScans, type DealSum, type WorthPlace } from '../reads/leads.ts';
import { createDigestScans, createDueMail, type DigestSignal, type DueMailKey } from '../reads/mail.ts';
import { createDayScans, createPostReads, type DayPlace } from '../reads/signals.ts';
import { readInParts } from './pages.ts';

type Read = <T>(query: () => T) => Promise<T>;

/** Endpoints counted at a time: about 3 ms. */
const ENDPOINTS = 10_000;

/** Endpoints of a tenant are counted in parts: 96,000 at once took 35 ms. */
export function endpointCountFace(
  db: Database,
  clock: Clock,
  read: Read,
): Pick<EndpointStore, 'countEndpoints'> {
  const countAfter = createEndpointCount(db);
  return {
    async countEndpoints(tenantId) {
      const nextTurn = createYielder(clock);
      let total = 0;
      for (let after: string | null = ''; after !== null; ) {
        const place: string = after;
        const { count, last } = await read(() => countAfter(tenantId, place, ENDPOINTS));
        total += count;
        after = last;
        await nextTurn();
      }
      return total;
    },
  };
}

/** Signals scanned at a time: about 3 ms. */
const OF_PERSON = 2_000;
const OF_COMPANY = 10_000;
/** The newest signals of a company that are read for contacts; each has to be parsed. */
const CONTACT_SIGNALS = 200;

/** The signals of a person, who may have hundreds of thousands: scanned in parts, between which other requests run. */
export function personSignalFace(
  db: Database,
  clock: Clock,
  read: Read,
): Pick<LeadStore, 'findFreeSignalsOfPerson' | 'findLeadSignals'> {
  const scans = createPersonSignalScans(db);
  const length = ({ wire }: LeadSignal) => wire.length;
  return {
    async findLeadSignals(tenantId, ids) {
      return readInParts([...new Set(ids)], { clock, read, one: (id) => scans.one(tenantId, id), length });
    },
    async findFreeSignalsOfPerson(tenantId, keys, limit) {
      const nextTurn = createYielder(clock);
      const free = new Set<string>();
      for (const key of keys) {
        const own: string[] = [];
        let before: string | undefined;
        do {
          const place = { tenantId, key, before };
          const part = await read(() =>
            scans.freeOfPerson(place, { scan: OF_PERSON, limit: limit - own.length }),
          );
          addAll(own, part.found);
          before = own.length < limit ? (part.next ?? undefined) : undefined;
          await nextTurn();
        } while (before !== undefined);
        for (const id of own) free.add(id);
      }
      // IDs sort by creation time, so the last ones are the newest.
      const newest = [...free].sort().slice(-limit);
      const ordered = await read(() => scans.newestFirst(tenantId, newest));
      return readInParts(ordered, { clock, read, one: scans.free, length });
    },
  };
}

/** The signals of companies, of which each may have millions: scanned in parts, between which other requests run. */
export function companySignalFace(
  db: Database,
  clock: Clock,
  read: Read,
): Pick<
  CompanyStore,
  'readCompanyActivity' | 'countCompanySignals' | 'listTopSignals' | 'listCompanyContacts'
> {
  const scans = createCompanyScans(db);

  async function parsedInParts<T>(
    ids: readonly string[],
    wireOf: (id: string) => string | null,
  ): Promise<T[]> {
    const one = (id: string) => {
      const wire = wireOf(id);
      return wire === null ? null : { parsed: JSON.parse(wire) as T, length: wire.length };
    };
    const rows = await readInParts(ids, { clock, read, one, length: ({ length }) => length });
    return rows.map(({ parsed }) => parsed);
  }

  /** Calls `scan` for consecutive spans that have about {@link OF_COMPANY} signals each. */
  async function inParts(
    span: CompanySpan,
    nextTurn: () => Promise<void>,
    scan: (part: CompanySpan) => void,
  ) {
    let from = span.from;
    for (;;) {
      const next: number | null = await read(() => {
        const rest = { ...span, from };
        const end = scans.endOf(rest, OF_COMPANY);
        scan({ ...rest, to: end ?? span.to });
        return end;
      });
      if (next === null) return;
      from = next + 1;
      await nextTurn();
    }
  }

  return {
    async readCompanyActivity(tenantId, domains, since) {
      const nextTurn = createYielder(clock);
      const starts = [...new Set(since)].sort((a, b) => b - a);
      const activities = [];
      for (const domain of domains) {
        const counts = new Map<number, number>();
        let count = 0;
        let to = Number.MAX_SAFE_INTEGER;
        for (const from of starts) {
          await inParts({ tenantId, domain, from, to }, nextTurn, (part) => {
            count += scans.count(part);
          });
          counts.set(from, count);
          to = from - 1;
        }
        const lastAt = await read(() => scans.lastAt(tenantId, domain));
        activities.push({ counts: since.map((from) => counts.get(from) ?? 0), lastAt });
        await nextTurn();
      }
      return activities;
    },
    async countCompanySignals(tenantId, domain, { from, stepMs }) {
      const counts = new Map<number, number>();
      const span = { tenantId, domain, from, to: Number.MAX_SAFE_INTEGER };
      await inParts(span, createYielder(clock), (part) => {
        for (const { step, count } of scans.steps(part, { since: from, stepMs }))
          counts.set(step, (counts.get(step) ?? 0) + count);
      });
      return [...counts].sort(([a], [b]) => a - b).map(([step, count]) => ({ step, count }));
    },
    async listCompanyContacts(tenantId, domain, limit) {
      const leadIds = await read(() => scans.newestLeads(tenantId, domain, limit));
      const leads = await parsedInParts<Lead>(leadIds, scans.leadWireOf);
      const signalIds = await read(() => scans.newestSignals(tenantId, domain, CONTACT_SIGNALS));
      const signals = await parsedInParts<Signal>(signalIds, scans.wireOf);
      return contactsOf(leads, signals, domain).slice(0, limit);
    },
    async listTopSignals(tenantId, domain, { since, limit }) {
      let best: RankedSignal[] = [];
      const span = { tenantId, domain, from: since, to: Number.MAX_SAFE_INTEGER };
      await inParts(span, createYielder(clock), (part) => {
        best = bestOf([...best, ...scans.top(part, limit)], limit);
      });
      const ids = best.map(({ id }) => id);
      return readInParts(ids, { clock, read, one: scans.wireOf, length: (wire) => wire.length });
    },
  };
}

/** The newest posts of a tenant, between which other requests run: six hundred long ones of emoji took 0.15 s. */
export function postFace(db: Database, clock: Clock, read: Read): Pick<SignalStore, 'listPosts'> {
  const reads = createPostReads(db);
  return {
    async listPosts(tenantId, limit) {
      const nextTurn = createYielder(clock);
      const posts: StoredPost[] = [];
      for (const id of await read(() => reads.newest(tenantId, limit))) {
        const post = await read(() => reads.get(id));
        if (post !== null) posts.push(post); // null: deleted in the meantime
        await nextTurn();
      }
      return posts;
    },
  };
}

/** Leads summed at a time: about 3 ms. */
const SUMMED = 20_000;

/** The pipeline's board: its leads, of which there may be millions, are summed in parts, between which other requests run. */
export function boardFace(
  db: Database,
  clock: Clock,
  read: Read,
): Pick<LeadStore, 'readBoard' | 'sumOpenDeals'> {
  const scans = createBoardScans(db);

  /** The sums of some positions and what follows them in their stages, by stage and currency. */
  async function sumFrom(tenantId: string, places: readonly WorthPlace[]): Promise<DealSum[]> {
    const nextTurn = createYielder(clock);
    const all = new Map<string, DealSum>();
    for (const first of places) {
      for (let place: WorthPlace | null = first; place !== null; ) {
        const from: WorthPlace = place;
        const { sum, next } = await read(() => scans.next(tenantId, from, SUMMED));
        const key = `${sum.stage} ${sum.currency}`;
        const before = all.get(key) ?? { leads: 0, amount: 0 };
        const [leads, amount] = [before.leads + sum.leads, before.amount + sum.amount];
        all.set(key, { ...sum, leads, amount });
        place = next;
        await nextTurn();
      }
    }
    return [...all.values()];
  }

  async function newestOf(tenantId: string, stage: Stage, limit: number): Promise<Buffer[]> {
    if (limit === 0) return [];
    const ids = await read(() => scans.newestOf(tenantId, stage, limit));
    const one = (id: string) => scans.wireOf(tenantId, id);
    return readInParts(ids, { clock, read, one, length: (wire) => wire.length });
  }

  return {
    async readBoard(tenantId, limit) {
      const all = await sumFrom(tenantId, STAGES.map(scans.startOf));
      const columns: BoardColumn[] = [];
      for (const stage of STAGES) {
        const own = all.filter((sum) => sum.stage === stage);
        columns.push({
          stage,
          count: own.reduce((count, { leads }) => count + leads, 0),
          value: own.flatMap(({ currency, amount, leads }) =>
            currency === null ? [] : [{ currency, amount_minor: amount, deals: leads }],
          ),
          leads: await newestOf(tenantId, stage, limit),
        });
      }
      return columns;
    },
    async sumOpenDeals(tenantId) {
      const open = STAGES.filter((stage) => dealStatusIn(stage) === 'open');
      const places = await read(() => open.flatMap((stage) => scans.dealsOf(tenantId, stage) ?? []));
      const byCurrency = Map.groupBy(await sumFrom(tenantId, places), ({ currency }) => currency ?? '');
      return [...byCurrency]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([currency, own]) => ({
          currency,
          amount_minor: own.reduce((sum, { amount }) => sum + amount, 0),
          deals: own.reduce((sum, { leads }) => sum + leads, 0),
        }));
    },
  };
}

/** Moves of a lead read at a time, and rows of counted signals: about 3 ms. */
const MOVES = 5_000;
const COUNTS = 10_000;

/** How leads move: 250,000 moves, of which a lead may have any number, took 0.17 s at once. */
export function flowFace(db: Database, clock: Clock, read: Read): Pick<LeadStore, 'readStageFlow'> {
  const scans = createFlowScans(db);
  return {
    async readStageFlow(tenantId, of) {
      const nextTurn = createYielder(clock);
      const reached = STAGES.map(() => 0);
      const stays = new Map<Stage, { count: number; ms: number }>();
      for (const id of await read(() => scans.newest(tenantId, of))) {
        let furthest = -1;
        for (let after: number | null = 0; after !== null; ) {
          const from: number = after;
          const part = await read(() => scans.moves(id, from, MOVES));
          for (const { previous, current, stays: count, ms } of part.between) {
            // A lead that was lost immediately had been new before.
            furthest = Math.max(furthest, current === 'lost' ? 0 : STAGES.indexOf(current));
            const before = previous === null ? undefined : (stays.get(previous) ?? { count: 0, ms: 0 });
            if (previous !== null && before !== undefined)
              stays.set(previous, { count: before.count + count, ms: before.ms + ms });
          }
          after = part.next;
          await nextTurn();
        }
        if (furthest >= 0) reached[furthest] = (reached[furthest] ?? 0) + 1;
      }
      return {
        leads: reached.reduce((sum, count) => sum + count, 0),
        furthest: Object.fromEntries(
          STAGES.flatMap((stage, place) => (reached[place] ? [[stage, reached[place]]] : [])),
        ),
        stayed: Object.fromEntries(Array.from(stays, ([stage, { count, ms }]) => [stage, ms / count])),
      } satisfies StageFlow;
    },
  };
}

/** Signals by day: of two million, each with a profile and score of its own, 0.23 s at once. */
export function signalDayFace(
  db: Database,
  clock: Clock,
  read: Read,
): Pick<SignalStore, 'countSignalsByDay'> {
  const scans = createDayScans(db);
  return {
    async countSignalsByDay(tenantId, from) {
      const nextTurn = createYielder(clock);
      const all = new Map<number, SignalDay & { count: number }>();
      let place: DayPlace | null = scans.startOf(fromIso(`${from}T00:00:00.000Z`) / DAY_MS);
      while (place !== null) {
        const start: DayPlace = place;
        const { sums, next } = await read(() => scans.next(tenantId, start, COUNTS));
        for (const { day, hot, warm, count } of sums) {
          const before = all.get(day) ?? { hot: 0, warm: 0, count: 0 };
          all.set(day, {
            day: toIso(day * DAY_MS).slice(0, 10),
            hot: before.hot + hot,
            warm: before.warm + warm,
            count: before.count + count,
          });
        }
        place = next;
        await nextTurn();
      }
      return [...all.values()].filter(({ count }) => count > 0).map(({ count: _, ...day }) => day);
    },
  };
}

/** Signals scanned per digest, whether they are in it or not, and at a time: about 4 ms. */
const MAX_LOOKED_AT = 20_000;
const LOOKED_AT = 1_000;

/** The signals of digests: of 20,000 hot ones, 0.1 s at once. */
export function digestFace(db: Database, clock: Clock, read: Read): Pick<DigestStore, 'findBest'> {
  const scans = createDigestScans(db);
  return {
    async findBest(tenantId, range) {
      const nextTurn = createYielder(clock);
      const position = Math.max(range.after, await read(() => scans.newest(tenantId)));
      const all = { ids: new Set<string>(), hot: 0, warm: 0, oldest: Number.POSITIVE_INFINITY };
      let best: DigestSignal[] = [];
      const add = (found: DigestSignal[]) => {
        const others = found.filter(({ id }) => !all.ids.has(id));
        for (const { id, classification, timestamp } of others) {
          all.ids.add(id);
          all[classification]++;
          all.oldest = Math.min(all.oldest, timestamp);
        }
        best = [...best, ...others].sort(bestOfDigestFirst).slice(0, range.limit);
      };
      let left = MAX_LOOKED_AT;
      for (let place: number | null = position + 1; place !== null && left > 0; left -= LOOKED_AT) {
        const below: number = place;
        const part = { above: range.after, below, scan: LOOKED_AT, until: position };
        const { found, next } = await read(() => scans.part(tenantId, range, part));
        add(found);
        place = next;
        await nextTurn();
      }
      // Those that were moved to the end meanwhile: the next digest does not contain them.
      const moved = { above: position, below: Number.MAX_SAFE_INTEGER, scan: MAX_LOOKED_AT, until: position };
      add((await read(() => scans.part(tenantId, range, moved))).found);
      const { hot, warm, oldest } = all;
      const one = (id: string) => scans.wireOf(tenantId, id);
      const ids = best.map(({ id }) => id);
      const wires = await readInParts(ids, { clock, read, one, length: (wire) => wire.length });
      return { position, oldest: hot + warm === 0 ? null : oldest, hot, warm, wires };
    },
  };
}

function bestOfDigestFirst(a: DigestSignal, b: DigestSignal): number {
  return b.score - a.score || b.timestamp - a.timestamp || b.place - a.place;
}

/** Batched events read at a time: about 8 ms. */
const BATCHED = 500;

/** The signals of a batched message: of 5,000 events, 0.1 to 0.2 s at once. */
export function batchFace(db: Database, clock: Clock, read: Read): Pick<BatchStore, 'readBatch'> {
  const scans = createBatchScans(db);
  return {
    async readBatch(endpointId, { limit, best: most }) {
      const nextTurn = createYielder(clock);
      const met = new Set<string>();
      const counts = { hot: 0, warm: 0, cold: 0 };
      let best: BatchedEvent[] = [];
      let events = 0;
      let lastId = '';
      for (let isOver = false; !isOver; ) {
        const scan = Math.min(BATCHED, limit - events);
        const part = await read(() => scans.part(endpointId, lastId, scan));
        // A signal may have two events.
        const others = part.filter(({ id }) => id !== null && !met.has(id) && met.add(id));
        for (const { classification } of others) counts[classification]++;
        best = [...best, ...others].sort(bestOfBatchFirst).slice(0, most);
        events += part.length;
        lastId = part.at(-1)?.eventId ?? lastId;
        isOver = part.length < scan || events === limit;
        await nextTurn();
      }
      const last = events === 0 ? null : await read(() => scans.last(lastId));
      if (last === null) return null;
      const ids = best.flatMap(({ id }) => id ?? []);
      const wires = await readInParts(ids, { clock, read, one: scans.wireOf, length: (wire) => wire.length });
      return { events, last, counts, wires };
    },
  };
}

/** In the order in which the commit of the message reads them again. */
function bestOfBatchFirst(a: BatchedEvent, b: BatchedEvent): number {
  return b.score - a.score || Number(BigInt(b.seq) - BigInt(a.seq));
}

function bestOf(signals: RankedSignal[], limit: number): RankedSignal[] {
  return signals.sort(bestFirst).slice(0, limit);
}

/** Tenants whose first due mail is looked up at a time: about 3 ms. */
const MAIL_TENANTS = 500;

/** Due mail, with tenants taking turns. Sorting all 96,000 at once took 0.22 s each time the outbox was checked. */
export function dueMailFace(db: Database, clock: Clock, read: Read): Pick<MailStore, 'dueMail'> {
  const due = createDueMail(db);

  async function inTurns(isUrgent: boolean, of: { now: number; limit: number }): Promise<DueMailKey[]> {
    if (of.limit === 0) return [];
    const nextTurn = createYielder(clock);
    let heads: DueMailKey[] = [];
    for (let place: string | null = ''; place !== null; ) {
      const after: string = place;
      const part = await read(() => due.next(after, isUrgent, { now: of.now, scan: MAIL_TENANTS }));
      heads = [...heads, ...part.heads].sort(longestDueFirst).slice(0, of.limit);
      place = part.next;
      await nextTurn();
    }
    if (heads.length === of.limit) return heads;
    const own = await read(() => heads.map(({ tenantId }) => due.firstOf(tenantId, isUrgent, of)));
    const turns = Array.from({ length: of.limit }, (_, turn) => own.flatMap((mails) => mails[turn] ?? []));
    return turns.flatMap((mails) => mails.sort(longestDueFirst)).slice(0, of.limit);
  }

  return {
    async dueMail(now, limit) {
      const urgent = await inTurns(true, { now, limit });
      const others = await inTurns(false, { now, limit: limit - urgent.length });
      return read(() => [...urgent, ...others].flatMap(({ id }) => due.get(id, now) ?? []));
    },
  };
}

function longestDueFirst(a: DueMailKey, b: DueMailKey): number {
  return a.nextTryAt - b.nextTryAt || (a.id < b.id ? -1 : 1);
}
