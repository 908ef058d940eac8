import type { Classification } from '../model/signal.ts';

/** How a post arrived: alone or in a batch, over the API or an import, or from a source. */
export type WayIn = 'post' | 'batch' | 'source';

/** Counters of intake, in plain numbers. */
export interface IntakeTally {
  countSignals(via: WayIn, signals: readonly { classification: string }[]): void;
  countEncoded(posts: number): void;
  /** Number of stored signals, by origin and class. */
  signals(): { via: WayIn; classification: Classification; count: number }[];
  /** Number of posts that the sentence encoder read. */
  readonly encoded: number;
}

export function createIntakeTally(): IntakeTally {
  const series = (['post', 'batch', 'source'] as const).flatMap((via) =>
    (['hot', 'warm', 'cold'] as const).map((classification) => ({ via, classification, count: 0 })),
  );
  let encoded = 0;
  return {
    countSignals(via, signals) {
      for (const { classification } of signals) {
        const found = series.find((each) => each.via === via && each.classification === classification);
        if (found !== undefined) found.count++;
      }
    },
    countEncoded(posts) {
      encoded += posts;
    },
    signals: () => series,
    get encoded() {
      return encoded;
    },
  };
}
