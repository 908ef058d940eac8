import {
  COUNTED,
  COUNTED_CLASSES,
  type Count,
  type Counted,
  type CountedClass,
  type Counts,
  type Rates,
} from '../model/campaign-stats.ts';
import type { CampaignEventRow } from '../store/campaign-store.ts';

/** What one bit stands for in the set of things that a recipient was counted for. */
const BITS = Object.fromEntries(COUNTED.map((name, bit) => [name, bit])) as Record<Counted, number>;
const CLASS_BITS = Object.fromEntries(COUNTED_CLASSES.map((name, bit) => [name, bit])) as Record<
  CountedClass,
  number
>;
const CONTACT = (1 << BITS.sent) | (1 << BITS.delivered);

/** Counts things once for each event and once for each recipient. */
class Counter {
  readonly totals: number[];
  readonly uniques: number[];
  /** Which bits each recipient has; one look-up an event, whatever is counted. */
  readonly #seen = new Map<number, number>();

  constructor(size: number) {
    this.totals = new Array<number>(size).fill(0);
    this.uniques = new Array<number>(size).fill(0);
  }

  /** The recipient's bits as they were before. */
  add(bit: number, recipient: number): number {
    const before = this.#seen.get(recipient) ?? 0;
    this.totals[bit] = (this.totals[bit] ?? 0) + 1;
    if ((before & (1 << bit)) === 0) {
      this.uniques[bit] = (this.uniques[bit] ?? 0) + 1;
      this.#seen.set(recipient, before | (1 << bit));
    }
    return before;
  }

  read(bit: number): Count {
    return { total: this.totals[bit] ?? 0, unique: this.uniques[bit] ?? 0 };
  }
}

/** Counts of a campaign, a step or a bucket, one event at a time. */
export class Tally {
  readonly #counter = new Counter(COUNTED.length);
  #contacted = 0;

  add(event: CampaignEventRow): void {
    const bit = BITS[event.auto ? 'auto_replied' : event.type];
    const before = this.#counter.add(bit, event.recipient);
    if ((before & CONTACT) === 0 && (CONTACT & (1 << bit)) !== 0) this.#contacted++;
  }

  /** Distinct recipients who were sent something, or got it. */
  get contacted(): number {
    return this.#contacted;
  }

  counts(): Counts {
    return readAll(COUNTED, BITS, this.#counter);
  }
}

/** Counts replies by class. */
export class ReplyTally {
  readonly #counter = new Counter(COUNTED_CLASSES.length);

  add(event: CampaignEventRow): void {
    if (event.type !== 'replied') return;
    this.#counter.add(CLASS_BITS[event.replyClass ?? 'unclassified'], event.recipient);
  }

  counts(): Record<CountedClass, Count> {
    return readAll(COUNTED_CLASSES, CLASS_BITS, this.#counter);
  }
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
