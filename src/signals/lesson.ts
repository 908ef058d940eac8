import { z } from 'zod';
import { dot } from '../lib/lists.ts';
import type { StoredLesson } from '../store/profile-store.ts';
import { MODEL } from './judge.ts';

/**
 * The lesson that a profile has learned from its tenant's judgements: a direction in the embedding space of
 * offers and a shift of the threshold. They are the maximum a posteriori estimate of a logistic regression on
 * the vectors of the judged posts, with the posts' previous log-odds as offset and Gaussian priors, so few
 * judgements change little.
 */
export interface Lesson {
  direction: Float32Array;
  shift: number;
}

/** A judged post, with its vector and its log-odds of warm before learning. */
export interface Judged {
  numbers: Float32Array;
  odds: number;
  relevant: boolean;
}

const countsSchema = z.object({ relevant: z.int(), not_relevant: z.int() });

/** A lesson as stored. */
const savedSchema = z.object({
  /** The model of the vectors; the lesson is void with any other. */
  model: z.string(),
  judged: z.int(),
  relevant: z.int(),
  /** Judged signals that are shown without the lesson, and with it. */
  before: countsSchema,
  after: countsSchema,
  /** Little-endian float32, base64. */
  direction: z.base64(),
  shift: z.number(),
});
export type SavedLesson = z.output<typeof savedSchema>;

/** Parses a stored lesson; null if there is none yet, or if it is from another model. */
export function savedLessonOf({ lesson }: Pick<StoredLesson, 'lesson'>): SavedLesson | null {
  if (lesson === null) return null;
  const saved = savedSchema.parse(JSON.parse(lesson));
  return saved.model === MODEL.version ? saved : null;
}

/** The lesson that applies to a profile's posts; null if there is none or it is turned off. */
export function activeLessonOf(stored: StoredLesson): Lesson | null {
  const saved = stored.isOn ? savedLessonOf(stored) : null;
  if (saved === null) return null;
  const bytes = Buffer.from(saved.direction, 'base64');
  const direction = Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
  return { direction, shift: saved.shift };
}

/**
 * Minimum number of judgements before a profile learns, and maximum number of the newest that it learns from.
 */
export const LEAST_JUDGED = 10;
export const MOST_JUDGED = 100;

/**
 * Standard deviations of the priors, and the maximum log-odds that a lesson adds or subtracts. They were
 * chosen by the simulation in docs/quality.md.
 */
const DIRECTION_DEVIATION = 4;
const SHIFT_DEVIATION = 0.7;
const REACH = 3;
const STEPS = 30;
const HALVINGS = 12;
const LEAST_GAIN = 1e-7;
const LEAST_CURVATURE = 1e-4;

/** Log-odds that a lesson adds to a post with this vector. */
export function lessonOdds({ direction, shift }: Lesson, numbers: Float32Array): number {
  return Math.max(-REACH, Math.min(REACH, dot(direction, numbers) + shift));
}

/**
 * Newton's method in the space of the posts (Rasmussen and Williams, Gaussian Processes, 2006, algorithm
 * 3.1). With a hundred posts, a step takes 1 to 2 ms, and all 30.
 */
export async function learn(judged: readonly Judged[], nextTurn: () => Promise<void>): Promise<Lesson> {
  const covariance: number[][] = [];
  for (const a of judged) {
    covariance.push(
      judged.map((b) => DIRECTION_DEVIATION ** 2 * dot(a.numbers, b.numbers) + SHIFT_DEVIATION ** 2),
    );
    await nextTurn();
  }
  const stateOf = (weights: readonly number[]): State => {
    const shifts = covariance.map((row) => dot(row, weights));
    let worth = -dot(weights, shifts) / 2;
    for (const [i, { odds, relevant }] of judged.entries()) {
      const margin = (odds + (shifts[i] ?? 0)) * (relevant ? 1 : -1);
      worth -= margin > 0 ? Math.log1p(Math.exp(-margin)) : Math.log1p(Math.exp(margin)) - margin;
    }
    return { weights, shifts, worth };
  };
  let best = stateOf(judged.map(() => 0));
  for (let step = 0; step < STEPS; step++) {
    let next = stateOf(newtonStep(judged, covariance, best.shifts));
    // A full step may overshoot if the log-odds were very wrong.
    for (let half = 0; half < HALVINGS && next.worth < best.worth; half++) {
      const { weights } = best;
      next = stateOf(next.weights.map((weight, i) => (weight + (weights[i] ?? 0)) / 2));
    }
    if (next.worth - best.worth < LEAST_GAIN) break;
    best = next;
    await nextTurn();
  }
  const { weights } = best;
  const direction = new Float32Array(judged[0]?.numbers.length ?? 0);
  for (const [i, { numbers }] of judged.entries()) {
    const weight = DIRECTION_DEVIATION ** 2 * (weights[i] ?? 0);
    for (let k = 0; k < direction.length; k++)
      direction[k] = (direction[k] ?? 0) + weight * (numbers[k] ?? 0);
  }
  return { direction, shift: SHIFT_DEVIATION ** 2 * weights.reduce((sum, weight) => sum + weight, 0) };
}

/** An iterate: the weight of each post, its shift in log-odds, and the value of the objective. */
interface State {
  weights: readonly number[];
  shifts: readonly number[];
  worth: number;
}

function newtonStep(
  judged: readonly Judged[],
  covariance: readonly (readonly number[])[],
  shifts: readonly number[],
): number[] {
  const roots: number[] = [];
  const targets = judged.map(({ odds, relevant }, i) => {
    const shift = shifts[i] ?? 0;
    const chance = 1 / (1 + Math.exp(-(odds + shift)));
    const curvature = Math.max(LEAST_CURVATURE, chance * (1 - chance));
    roots.push(Math.sqrt(curvature));
    return curvature * shift + Number(relevant) - chance;
  });
  const system = covariance.map((row, i) =>
    row.map((value, j) => (roots[i] ?? 0) * value * (roots[j] ?? 0) + Number(i === j)),
  );
  const known = covariance.map((row, i) => (roots[i] ?? 0) * dot(row, targets));
  const solved = solve(system, known);
  return targets.map((target, i) => target - (roots[i] ?? 0) * (solved[i] ?? 0));
}

/** Solves a symmetric positive definite system by Cholesky decomposition. */
function solve(system: readonly (readonly number[])[], known: readonly number[]): number[] {
  const lower: number[][] = [];
  const forward: number[] = [];
  for (const [i, row] of system.entries()) {
    const own: number[] = [];
    for (let j = 0; j <= i; j++) {
      const other = j === i ? own : (lower[j] ?? []);
      let value = row[j] ?? 0;
      for (let k = 0; k < j; k++) value -= (own[k] ?? 0) * (other[k] ?? 0);
      own.push(j === i ? Math.sqrt(value) : value / (other[j] ?? 1));
    }
    lower.push(own);
    let value = known[i] ?? 0;
    for (let k = 0; k < i; k++) value -= (own[k] ?? 0) * (forward[k] ?? 0);
    forward.push(value / (own[i] ?? 1));
  }
  const found = [...forward];
  for (let i = found.length - 1; i >= 0; i--) {
    let value = found[i] ?? 0;
    for (let k = i + 1; k < found.length; k++) value -= (lower[k]?.[i] ?? 0) * (found[k] ?? 0);
    found[i] = value / (lower[i]?.[i] ?? 1);
  }
  return found;
}
