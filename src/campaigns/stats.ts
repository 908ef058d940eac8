import { DateTime } from 'luxon';
import { toIso } from '../lib/clock.ts';
import { createLimits } from '../lib/queues.ts';
import { createYielder, inTurns, standInLine } from '../lib/yielding.ts';
import {
  type Campaign,
  type CampaignStats,
  COUNTED,
  COUNTED_CLASSES,
  type Count,
  type Counted,
  type CountedClass,
  type Counts,
  MAX_BUCKETS,
  type Rates,
  type StatsInterval,
} from '../model/campaign.ts';
import { DomainError } from '../model/errors.ts';
import type { CampaignEventRow, CampaignEventWindow, CampaignStore } from '../store/campaign-store.ts';
import { type BitMemory, createBitMemory } from './recipient-bits.ts';

/** A day or a week of a time zone: `start` <= t < `end`, Unix milliseconds. */
export interface Bucket {
  /** Its first day, `2026-03-29`. */
  date: string;
  start: number;
  end: number;
}

/** Half open; Unix milliseconds. */
export interface Range {
  from: number;
  to: number;
}

/** When the day `date` starts in `timezone`, Unix milliseconds; not every day starts at midnight. */
export function startOfDate(date: string, timezone: string): number {
  return startOf(DateTime.fromISO(date, { zone: timezone }), 'day').toMillis();
}

/** Buckets computed without yielding: each takes about 0.1 ms. */
const BUCKETS_AT_ONCE = 25;

/** The days or weeks that `range` overlaps, without gaps; null if there are more than `max`. For `inTurns`. */
export function* bucketsOf(
  { from, to }: Range,
  { interval, timezone, max }: { interval: StatsInterval; timezone: string; max: number },
): Generator<void, Bucket[] | null> {
  const buckets: Bucket[] = [];
  let start = startOf(DateTime.fromMillis(from, { zone: timezone }), interval);
  while (start.toMillis() < to) {
    if (buckets.length === max) return null;
    if (buckets.length % BUCKETS_AT_ONCE === BUCKETS_AT_ONCE - 1) yield;
    const end = startOf(start.plus({ [interval]: 1 }), interval);
    buckets.push({ date: start.toFormat('yyyy-MM-dd'), start: start.toMillis(), end: end.toMillis() });
    start = end;
  }
  return buckets;
}

/**
 * If midnight occurs twice (Havana, the Azores), luxon returns the second one when coming from another day: the moment before it
 * then has the same date, and the start of the day computed from there is the first one. `hasSame` has the same defect, so
 * dates are compared.
 */
function startOf(time: DateTime, interval: StatsInterval): DateTime {
  const start = time.startOf(interval);
  const before = start.minus({ milliseconds: 1 });
  return before.toISODate() === start.toISODate() ? before.startOf('day') : start;
}

/**
 * The query; Unix milliseconds. A null bound means the first or last event; a null interval is chosen automatically.
 */
export interface StatsQuery {
  from: number | null;
  to: number | null;
  interval: StatsInterval | null;
  timezone: string;
}

/**
 * Events counted at a time, in 4 to 7 ms; 100,000 take 75 to 130 ms of CPU time in total. Requests take turns: when each
 * counted as many in every turn of the event loop, 24 requests made others wait for 0.3 s.
 */
const PAGE_EVENTS = 5_000;
const EVENTS_BETWEEN_YIELDS = 250;

/** One at a time of each tenant: a count remembers each recipient. */
const inTurn = createLimits(1);

/**
 * Statistics of a campaign, counted from its events: unique counts of any range in any time zone cannot be summed from
 * precomputed parts. @throws DomainError `INVALID_REQUEST` if the series would have too many buckets; `UNAVAILABLE` if the counts in progress take too much
 * memory
 */
export function campaignStats(
  store: CampaignStore,
  campaign: Campaign,
  query: StatsQuery,
): Promise<CampaignStats> {
  return inTurn(campaign.tenantId, async () => {
    // A count of few events does not yield: all that waited would run in the turn in which the one before ends.
    await standInLine();
    return countAll(store, campaign, query);
  });
}

async function countAll(store: CampaignStore, campaign: Campaign, query: StatsQuery): Promise<CampaignStats> {
  const range = rangeOf(query, await store.getCampaignSpan(campaign.id));
  const { interval, buckets } = range === null ? NO_SERIES : await seriesOf(range, query);
  const memory = createBitMemory();
  try {
    const counted = createCount(buckets, memory);
    if (range !== null) {
      const nextTurn = createYielder({ monotonic: () => performance.now() });
      for await (const events of walk(store, campaign.id, range)) {
        for (const [n, event] of events.entries()) {
          counted.add(event);
          if (n % EVENTS_BETWEEN_YIELDS === 0) await nextTurn();
        }
      }
    }
    return {
      campaign_id: campaign.id,
      from: range === null ? null : toIso(range.from),
      to: range === null ? null : toIso(range.to),
      interval,
      timezone: query.timezone,
      ...counted.result(campaign),
    };
  } finally {
    memory.release();
  }
}

const NO_SERIES = { interval: null, buckets: [] };

/** The given bounds, otherwise the first and last event; null if there are no events and a bound is missing. */
function rangeOf({ from, to }: StatsQuery, span: { first: number; last: number } | null): Range | null {
  if (from !== null && to !== null) return { from, to };
  if (span === null) return null;
  const start = from ?? Math.min(span.first, to ?? span.first);
  return { from: start, to: to ?? Math.max(span.last + 1, start) };
}

async function seriesOf(
  range: Range,
  { interval, timezone }: StatsQuery,
): Promise<{ interval: StatsInterval | null; buckets: Bucket[] }> {
  for (const candidate of interval === null ? (['day', 'week'] as const) : [interval]) {
    const buckets = await inTurns(bucketsOf(range, { interval: candidate, timezone, max: MAX_BUCKETS }));
    if (buckets !== null) return { interval: candidate, buckets };
  }
  if (interval === null) return NO_SERIES;
  const detail = `The range has more than ${MAX_BUCKETS} ${interval}s, the most that a series can have.`;
  throw new DomainError('INVALID_REQUEST', detail, {
    hint: interval === 'day' ? 'Use a shorter range, or "interval=week".' : 'Use a shorter range.',
    errors: [{ parameter: 'interval', detail }],
  });
}

/** The events of a range in chronological order, page by page: a campaign may have any number. */
async function* walk(store: CampaignStore, campaignId: string, range: Range) {
  let after: CampaignEventWindow['after'] = null;
  for (;;) {
    const events = await store.listCampaignEvents(campaignId, { ...range, after, limit: PAGE_EVENTS });
    yield events;
    const last = events.at(-1);
    if (last === undefined || events.length < PAGE_EVENTS) return;
    after = last;
    await standInLine();
  }
}

/** Counts events, which must be in chronological order, for the total, the steps and the buckets. */
function createCount(buckets: readonly Bucket[], memory: BitMemory) {
  const whole = createEventCounter(memory);
  const replies = createReplyCounter(memory);
  const steps = new Map<number | null, EventCounter>();
  /** The buckets before the present one, whose recipients need not be remembered. */
  const past: Counts[] = [];
  let present = createEventCounter(memory);

  return {
    add(event: CampaignEventRow): void {
      whole.add(event);
      replies.add(event);
      counterOf(steps, event.step, memory).add(event);
      while (past.length < buckets.length - 1 && event.occurredAt >= (buckets[past.length]?.end ?? 0)) {
        past.push(present.counts());
        present.end();
        present = createEventCounter(memory);
      }
      if (buckets.length > 0) present.add(event);
    },
    result(campaign: Campaign) {
      const { steps: named } = campaign.settings;
      const series = [...past, present.counts()];
      const none = createEventCounter(memory).counts();
      for (const { step } of named) counterOf(steps, step, memory);
      return {
        ...summaryOf(whole),
        replies_by_class: replies.counts(),
        by_step: [...steps]
          .sort(([a], [b]) => (a ?? Infinity) - (b ?? Infinity))
          .map(([step, counter]) => ({
            step,
            name: named.find((one) => one.step === step)?.name ?? null,
            ...summaryOf(counter),
          })),
        series: buckets.map(({ date, start, end }, index) => ({
          date,
          start: toIso(start),
          end: toIso(end),
          counts: series[index] ?? none,
        })),
      };
    },
  };
}

function summaryOf(counter: EventCounter) {
  const counts = counter.counts();
  return { recipients_contacted: counter.contacted(), counts, rates: ratesOf(counts, counter.contacted()) };
}

function counterOf(
  steps: Map<number | null, EventCounter>,
  step: number | null,
  memory: BitMemory,
): EventCounter {
  const known = steps.get(step);
  if (known !== undefined) return known;
  const counter = createEventCounter(memory);
  steps.set(step, counter);
  return counter;
}

/** The meaning of each bit in the set of counts that include a recipient. */
const BITS = Object.fromEntries(COUNTED.map((name, bit) => [name, bit])) as Record<Counted, number>;
const CLASS_BITS = Object.fromEntries(COUNTED_CLASSES.map((name, bit) => [name, bit])) as Record<
  CountedClass,
  number
>;
const CONTACT = (1 << BITS.sent) | (1 << BITS.delivered);

/** Counts of a campaign, a step or a bucket, one event at a time. */
interface EventCounter {
  add(event: CampaignEventRow): void;
  /** Distinct recipients with a `sent` or `delivered` event. */
  contacted(): number;
  counts(): Counts;
  /** No further events are counted. */
  end(): void;
}

/** Counts of replies by classification; other events are ignored. */
export interface ReplyCounter {
  add(event: CampaignEventRow): void;
  counts(): Record<CountedClass, Count>;
}

function createEventCounter(memory: BitMemory): EventCounter {
  const counter = createCounter(COUNTED.length, memory);
  let contacted = 0;
  return {
    add(event) {
      const bit = BITS[event.auto ? 'auto_replied' : event.type];
      const before = counter.add(bit, event.recipient);
      if ((before & CONTACT) === 0 && (CONTACT & (1 << bit)) !== 0) contacted++;
    },
    contacted: () => contacted,
    counts: () => readAll(COUNTED, BITS, counter),
    end: counter.end,
  };
}

function createReplyCounter(memory: BitMemory): ReplyCounter {
  const counter = createCounter(COUNTED_CLASSES.length, memory);
  return {
    add(event) {
      if (event.type !== 'replied') return;
      counter.add(CLASS_BITS[event.replyClass ?? 'unclassified'], event.recipient);
    },
    counts: () => readAll(COUNTED_CLASSES, CLASS_BITS, counter),
  };
}

/** Counts things once for each event and once for each recipient. */
interface Counter {
  /** Counts what `bit` stands for; returns the recipient's previous bits. */
  add(bit: number, recipient: number): number;
  read(bit: number): Count;
  /** No further things are counted. */
  end(): void;
}

function createCounter(size: number, memory: BitMemory): Counter {
  const totals = new Array<number>(size).fill(0);
  const uniques = new Array<number>(size).fill(0);
  // All bits of a recipient together, so that each event needs only one look-up, whatever is counted.
  const seen = memory.create();
  return {
    add(bit, recipient) {
      const before = seen.set(recipient, bit);
      totals[bit] = (totals[bit] ?? 0) + 1;
      if ((before & (1 << bit)) === 0) uniques[bit] = (uniques[bit] ?? 0) + 1;
      return before;
    },
    read: (bit) => ({ total: totals[bit] ?? 0, unique: uniques[bit] ?? 0 }),
    end: seen.release,
  };
}

/**
 * Shares of recipients. A range can start between a delivery and its opening, so that more recipients open than received
 * something: such a rate is capped at 1.
 */
function ratesOf(counts: Counts, contacted: number): Rates {
  const over = (counted: Counted, base: number) =>
    base === 0 ? null : Math.min(1, counts[counted].unique / base);
  const sent = counts.sent.unique;
  const delivered = counts.delivered.unique;
  return {
    delivery: over('delivered', sent),
    bounce: over('bounced', sent),
    open: over('opened', delivered),
    click: over('clicked', delivered),
    reply: over('replied', delivered),
    unsubscribe: over('unsubscribed', delivered),
    meeting: over('meeting', contacted),
  };
}

function readAll<K extends string>(
  names: readonly K[],
  bits: Record<K, number>,
  counter: Counter,
): Record<K, Count> {
  return Object.fromEntries(names.map((name) => [name, counter.read(bits[name])])) as Record<K, Count>;
}
