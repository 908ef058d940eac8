/** The two questions about a post. */
export const QUESTIONS = ['hot', 'warm'] as const;
export type Question = (typeof QUESTIONS)[number];

/** The weights of examples, and the strength of regularization. Chosen by cross-validation, see README. */
export interface Settings {
  /** By set: for positive and negative examples. Posts by consumers count half. */
  counts: Readonly<Record<string, readonly [yes: number, no: number]>>;
  /** The factor for further posts with an uncertain label. */
  unsure: number;
  penalty: { features: number; encoder: number };
}

/** There is one pair of thresholds for all sets, so the different mixtures of the sets are balanced here. */
export const SETTINGS: Readonly<Record<Question, Settings>> = {
  hot: {
    counts: {
      general: [3.6, 1],
      stream: [3, 1],
      asks: [0.9, 1.7],
      real: [1, 1.7],
      tune: [1, 2.6],
      read: [1.5, 1.1],
      newer: [1.5, 1.1],
      sellers: [1.5, 1.1],
      titles: [3, 1],
      jobs: [0.3, 0.2],
      assumed: [0, 1],
      written: [0.9, 1.1],
      scenes: [0.5, 0.5],
    },
    unsure: 0,
    penalty: { features: 8, encoder: 20 },
  },
  warm: {
    counts: {
      general: [2.2, 1],
      stream: [1.2, 1.8],
      asks: [0.85, 1.3],
      real: [0.95, 1.26],
      tune: [1, 1.5],
      read: [0.9, 1.1],
      newer: [0.9, 1.1],
      sellers: [0.9, 1.1],
      titles: [2, 1],
      jobs: [0.2, 0.2],
      assumed: [0, 0.7],
      written: [0.9, 1.1],
      scenes: [0.5, 0.5],
    },
    unsure: 1,
    penalty: { features: 8, encoder: 31 },
  },
};

type Counts = Settings['counts'];

/** Different weights for words alone: our own plain sentences keep the simplest forms apart (`test/signals/pairs.test.ts`). */
export const WORDS_COUNTS: Readonly<Record<Question, Counts>> = {
  hot: { written: [3, 3.6] },
  warm: { written: [3, 3.6] },
};
/** The encoder's numbers are about 0.05 each: this scales them to the size of features. */
export const ENCODER_SCALE = 6;
/** Fixed weights, for features with an obvious meaning that occur in too few posts to be learned. */
export const GIVEN: Readonly<Record<string, number>> = { settled_after: -6, pitch: -6 };
/** Features in fewer examples are omitted. */
export const MIN_EXAMPLES = 8;
/** Sets that we labelled: uncertain labels count as configured. */
export const FURTHER: ReadonlySet<string> = new Set(['read', 'newer', 'titles', 'jobs']);
export const FOLDS = 5;
export const SEEDS = [7, 11] as const;
/** Tuning the encoder takes a hundred times longer. */
export const TUNED_SEEDS = [7] as const;
/** The share of cold posts, which are numerous, in an epoch of the encoder's training. */
export const COLD_SHARES: Readonly<Record<string, number>> = {
  assumed: 1 / 3,
  general: 1 / 2,
  titles: 1 / 2,
  read: 2 / 3,
  newer: 2 / 3,
};

/** The targets of each set: precision and recall of hot, and of hot and warm; hot posts classified at least as warm; AUC. */
export const TARGETS: Readonly<Record<string, readonly number[]>> = {
  stream: [0.6, 0.45, 0.6, 0.55, 0.8, 0.94],
  general: [0.3, 0.4, 0.45, 0.5, 0.6, 0.89],
  asks: [0.8, 0.5, 0.8, 0.6],
  real: [0.7, 0.45, 0.75, 0.6],
  tune: [0.85, 0.5, 0.75, 0.65],
  newer: [0.7, 0.55, 0.7, 0.6],
};
