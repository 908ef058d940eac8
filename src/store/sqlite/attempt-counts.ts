import type { DeliveryStatements } from '../changes/deliveries.ts';

type CountAttempts = DeliveryStatements['deliveries']['countAttempts'];

/** The attempts that a transaction counts, added to the table once per row instead of once per attempt. */
export interface AttemptCounts {
  /** In place of the statement. */
  add: CountAttempts;
  /** Stores what was added; called before COMMIT. */
  store(): void;
  /** What was added so far, for {@link rollBackTo}. */
  readonly mark: number;
  /** Forgets what was added since: the transaction, or a part of it, was rolled back. */
  rollBackTo(mark: number): void;
}

/**
 * A search of the table by three columns takes 3 us, and a delivery costs the writer 17. A busy batch has hundreds of
 * outcomes of few endpoints, which respond at two or three speeds.
 */
export function createAttemptCounts(countAttempts: CountAttempts): AttemptCounts {
  let added: Parameters<CountAttempts>[] = [];
  return {
    add: (...attempts) => void added.push(attempts),
    store() {
      const rows = new Map<string, Parameters<CountAttempts>>();
      for (const attempts of added) {
        const [endpointId, hour, speed, count] = attempts;
        const key = `${endpointId} ${hour} ${speed}`;
        const row = rows.get(key);
        if (row === undefined) rows.set(key, [endpointId, hour, speed, count]);
        else row[3] += count;
      }
      for (const row of rows.values()) countAttempts(...row);
      added = [];
    },
    get mark() {
      return added.length;
    },
    rollBackTo(mark) {
      added.length = mark;
    },
  };
}
