/** A sparse row of features: the indexes and values of those that are not 0. */
export interface SparseRow {
  places: Int32Array;
  values: Float64Array;
}

/** The input of a logistic regression. */
export interface Problem {
  rows: readonly SparseRow[];
  answers: readonly number[];
  /** The weight of each row. */
  counts: readonly number[];
  /** The L2 penalty by index. */
  penalties: Float64Array;
}

const MEMORY = 10;
const MAX_STEPS = 80;
const MAX_HALVINGS = 25;
const DONE_BELOW = 4e-6;

/** Weights by index, the bias last. L-BFGS from `start`, or zero: the same input gives the same weights. */
export function fitLogistic(problem: Problem, start?: Float64Array): Float64Array {
  const size = problem.penalties.length + 1;
  let weights = start === undefined ? new Float64Array(size) : Float64Array.from(start);
  let gradient = new Float64Array(size);
  let loss = evaluate(problem, weights, gradient);
  const moves: { by: Float64Array; turn: Float64Array }[] = [];
  for (let step = 0; step < MAX_STEPS; step++) {
    const direction = directionOf(gradient, moves);
    const slope = dot(gradient, direction);
    const next = { weights: new Float64Array(size), gradient: new Float64Array(size), loss };
    let length = 1;
    let halvings = 0;
    for (; halvings < MAX_HALVINGS; halvings++, length /= 2) {
      for (let i = 0; i < size; i++) next.weights[i] = at(weights, i) - length * at(direction, i);
      next.loss = evaluate(problem, next.weights, next.gradient);
      if (next.loss <= loss - 1e-4 * length * slope) break;
    }
    if (halvings === MAX_HALVINGS) break;
    const by = next.weights.map((value, i) => value - at(weights, i));
    const turn = next.gradient.map((value, i) => value - at(gradient, i));
    if (dot(by, turn) > 1e-10) moves.push({ by, turn });
    if (moves.length > MEMORY) moves.shift();
    const gain = (loss - next.loss) / Math.max(1, Math.abs(loss));
    ({ weights, gradient, loss } = next);
    if (gain < DONE_BELOW) break;
  }
  return weights;
}

/** The log-odds of a row. */
export function logOdds(weights: Float64Array, { places, values }: SparseRow): number {
  let sum = at(weights, weights.length - 1);
  for (let i = 0; i < places.length; i++)
    sum += (weights[places[i] as number] as number) * (values[i] as number);
  return sum;
}

function evaluate(
  { rows, answers, counts, penalties }: Problem,
  weights: Float64Array,
  gradient: Float64Array,
): number {
  gradient.fill(0);
  let loss = 0;
  rows.forEach((row, index) => {
    const count = counts[index] ?? 0;
    const answer = answers[index] ?? 0;
    const odds = logOdds(weights, row);
    const signed = answer === 1 ? odds : -odds;
    loss += count * (signed > 30 ? 0 : signed < -30 ? -signed : Math.log1p(Math.exp(-signed)));
    const error = count * (1 / (1 + Math.exp(-odds)) - answer);
    const { places, values } = row;
    for (let i = 0; i < places.length; i++) {
      const place = places[i] as number;
      gradient[place] = (gradient[place] as number) + error * (values[i] as number);
    }
    gradient[gradient.length - 1] = at(gradient, gradient.length - 1) + error;
  });
  for (let i = 0; i < penalties.length; i++) {
    loss += 0.5 * at(penalties, i) * at(weights, i) ** 2;
    gradient[i] = at(gradient, i) + at(penalties, i) * at(weights, i);
  }
  return loss;
}

/** The two-loop recursion (Nocedal, 1980). */
function directionOf(
  gradient: Float64Array,
  moves: readonly { by: Float64Array; turn: Float64Array }[],
): Float64Array {
  const direction = Float64Array.from(gradient);
  const kept = [...moves].reverse().map(({ by, turn }) => {
    const share = dot(by, direction) / dot(turn, by);
    for (let i = 0; i < direction.length; i++) direction[i] = at(direction, i) - share * at(turn, i);
    return { by, turn, share };
  });
  const last = moves.at(-1);
  const scale = last
    ? dot(last.by, last.turn) / dot(last.turn, last.turn)
    : 1 / Math.max(1, Math.sqrt(dot(gradient, gradient)));
  for (let i = 0; i < direction.length; i++) direction[i] = at(direction, i) * scale;
  for (const { by, turn, share } of kept.reverse()) {
    const back = dot(turn, direction) / dot(turn, by);
    for (let i = 0; i < direction.length; i++) direction[i] = at(direction, i) + at(by, i) * (share - back);
  }
  return direction;
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += at(a, i) * at(b, i);
  return sum;
}

function at(list: Float64Array, place: number): number {
  return list[place] ?? 0;
}
