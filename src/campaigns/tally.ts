import {
  COUNTED,
  COUNTED_CLASSES,
  type Count,
  type Counted,
  type CountedClass,
  type Counts,
  type Rates,
} from '../model/campaign.ts';
import type { CampaignEventRow } from '../store/campaign-store.ts';

/** What one bit stands for in the set of things that a recipient was counted for. */
const BITS = Object.fromEntries(COUNTED.map((name, bit) => [name, bit])) as Record<Counted, number>;
const CLASS_BITS = Object.fromEntries(COUNTED_CLASSES.map((name, bit) => [name, bit])) as Record<
  CountedClass,
  number
>;
const CONTACT = (1 << BITS.sent) | (1 << BITS.delivered);

/** Counts of a campaign, a step or a bucket, one event at a time. */
export interface Tally {
  add(event: CampaignEventRow): void;
  /** Distinct recipients who were sent something, or got it. */
  contacted(): number;
  counts(): Counts;
}

/** Counts of replies by class; other events are passed over. */
export interface ReplyTally {
  add(event: CampaignEventRow): void;
  counts(): Record<CountedClass, Count>;
}

export function createTally(): Tally {
  const counter = createCounter(COUNTED.length);
  let contacted = 0;
  return {
    add(event) {
      const bit = BITS[event.auto ? 'auto_replied' : event.type];
      const before = counter.add(bit, event.recipient);
      if ((before & CONTACT) === 0 && (CONTACT & (1 << bit)) !== 0) contacted++;
    },
    contacted: () => contacted,
    counts: () => readAll(COUNTED, BITS, counter),
  };
}

export function createReplyTally(): ReplyTally {
  const counter = createCounter(COUNTED_CLASSES.length);
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
  /** Counts the thing `bit` stands for; returns the recipient's bits as they were before. */
  add(bit: number, recipient: number): number;
  read(bit: number): Count;
}

function createCounter(size: number): Counter {
  const totals = new Array<number>(size).fill(0);
  const uniques = new Array<number>(size).fill(0);
  // All that a recipient was counted for in one number: one look-up an event, whatever is counted.
  const seen = new Map<number, number>();
  return {
    add(bit, recipient) {
      const before = seen.get(recipient) ?? 0;
      totals[bit] = (totals[bit] ?? 0) + 1;
      if ((before & (1 << bit)) === 0) {
        uniques[bit] = (uniques[bit] ?? 0) + 1;
        seen.set(recipient, before | (1 << bit));
      }
      return before;
    },
    read: (bit) => ({ total: totals[bit] ?? 0, unique: uniques[bit] ?? 0 }),
  };
}

/**
 * Shares of recipients. A range can begin between a delivery and its opening, so that more people open than are known to
 * have got anything: such a rate is 1, as more than all there is not.
 */
export function ratesOf(counts: Counts, contacted: number): Rates {
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
