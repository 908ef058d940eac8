import learnt from './weights.json' with { type: 'json' };

/** A linear judgement: log-odds against its class's threshold, so that 0 is where the class begins. */
export interface Linear {
  bias: number;
  /** By feature. */
  weights: Readonly<Record<string, number>>;
  /** By number of the encoder; empty: words alone. */
  encoder: readonly number[];
}

/** What tells hot from the rest, and hot or warm from the rest. */
export interface Judge {
  hot: Linear;
  warm: Linear;
}

/** The model as it was trained: `npm run train` writes it, with the figures that it was accepted with. */
export interface LearntModel {
  version: string;
  /** The day on which thresholds and scores were calibrated on held-out posts. */
  calibratedOn: string;
  /** Without the encoder. */
  words: Judge;
  /** With it. */
  encoder: Judge;
  /** What the encoder gives an average post: its share is what differs from that. */
  encoderCentre: { hot: number; warm: number };
  /** The most that the encoder may add or take, in log-odds. */
  encoderReach: { hot: number; warm: number };
  types: Readonly<Record<string, Linear>>;
}

export const MODEL: LearntModel = learnt;
