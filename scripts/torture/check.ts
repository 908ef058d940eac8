/** Sent posts and received deliveries, by name. A name is an endpoint's path and a post's address. */
export interface Books {
  /** Everything that was ever sent, whatever the response. */
  attempted: ReadonlySet<string>;
  /** Everything that was accepted. */
  accepted: ReadonlySet<string>;
  /** How often each was delivered with a valid signature. */
  delivered: ReadonlyMap<string, number>;
}

/** Counts like Jepsen's `total-queue` (github.com/jepsen-io/jepsen, checker.clj). */
export interface TotalQueue {
  attempted: number;
  accepted: number;
  delivered: number;
  /** Accepted, but never delivered. */
  lost: string[];
  /** Delivered, but never sent. */
  unexpected: string[];
  /** Repeated deliveries. Delivery is at least once, so they are not errors. */
  duplicated: number;
  /** Delivered, although the sender received no success: the response was lost. */
  recovered: number;
}

/** Compares the deliveries with the sent posts. */
export function totalQueue({ attempted, accepted, delivered }: Books): TotalQueue {
  const names = [...delivered.keys()];
  return {
    attempted: attempted.size,
    accepted: accepted.size,
    delivered: delivered.size,
    lost: [...accepted].filter((name) => !delivered.has(name)),
    unexpected: names.filter((name) => !attempted.has(name)),
    duplicated: [...delivered.values()].reduce((sum, times) => sum + times - 1, 0),
    recovered: names.filter((name) => attempted.has(name) && !accepted.has(name)).length,
  };
}

/** A value at a time. */
export type Sample = readonly [seconds: number, value: number];

/** The growth of a value per minute: the slope of the least-squares line. */
export function slopePerMinute(samples: readonly Sample[]): number {
  const count = samples.length;
  if (count < 2) return 0;
  const meanOf = (at: 0 | 1) => samples.reduce((sum, sample) => sum + sample[at], 0) / count;
  const [meanX, meanY] = [meanOf(0), meanOf(1)];
  let [above, below] = [0, 0];
  for (const [x, y] of samples) {
    above += (x - meanX) * (y - meanY);
    below += (x - meanX) ** 2;
  }
  return below === 0 ? 0 : (above / below) * 60;
}
