/** What was asked for and what came, by their names. A name is an endpoint's path and a post's address. */
export interface Books {
  /** Everything that was ever sent in, whatever came of it. */
  attempted: ReadonlySet<string>;
  /** What was answered with success. */
  accepted: ReadonlySet<string>;
  /** How often each was delivered, rightly signed. */
  delivered: ReadonlyMap<string, number>;
}

/** As Jepsen's `total-queue` counts (github.com/jepsen-io/jepsen, checker.clj). */
export interface TotalQueue {
  attempted: number;
  accepted: number;
  delivered: number;
  /** Accepted, and never delivered. */
  lost: string[];
  /** Delivered, and never sent in. */
  unexpected: string[];
  /** Delivered again: of each, all but the first. At least once is promised, so these are no fault. */
  duplicated: number;
  /** Delivered, although nobody was told that it was accepted: the answer was lost on its way. */
  recovered: number;
}

/** Holds what came against what was asked for. */
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

/** A figure at a time. */
export type Sample = readonly [seconds: number, value: number];

/** By how much a figure grows a minute: the slope of the straight line that lies closest (least squares). */
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
