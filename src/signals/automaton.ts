/**
 * Finds many sequences in one pass (Aho and Corasick, 1975): reading a symbol takes one or a few steps,
 * regardless of the number of sequences. Symbols are integers from 1; 0 is any symbol that occurs in no
 * sequence.
 */
export interface Automaton {
  /** The memory that it takes, outside the heap. */
  bytes: number;
  /**
   * Calls `visit` for each sequence that ends at each position, longest first. Once it returns false, further places of the sequence
   * are skipped.
   */
  scan(symbols: Int32Array, visit: (sequence: number, last: number) => boolean): void;
}

/** A state has five numbers. */
const STATE_BYTES = 20;

/** Builds the automaton of `sequences`, which must be distinct and not empty. */
export function buildAutomaton(sequences: readonly (readonly number[])[]): Automaton {
  const states = grow(sequences);
  const { found } = states;
  const next = createSteps(states);
  const { fallback, shorter } = link(states, next);

  function scan(symbols: Int32Array, visit: (sequence: number, last: number) => boolean): void {
    /** Without those to skip; copied before the first change. */
    let [wanted, links] = [found, shorter];
    let state = 0;
    for (let at = 0; at < symbols.length; at++) {
      state = follow(next, fallback, state, symbols[at] ?? 0);
      let before = state;
      let ending = wanted[state] === 0 ? (links[state] ?? 0) : state;
      while (ending !== 0) {
        if (wanted[ending] === 0) {
          // From now on, the chain skips it.
          ending = links[before] = links[ending] ?? 0;
          continue;
        }
        if (!visit((wanted[ending] ?? 0) - 1, at)) {
          if (wanted === found) [wanted, links] = [found.slice(), shorter.slice()];
          wanted[ending] = 0;
        }
        before = ending;
        ending = links[ending] ?? 0;
      }
    }
  }
  return { bytes: found.length * STATE_BYTES, scan };
}

/**
 * The beginnings of all sequences, numbered by length, then by their symbols: the steps from a state lead to adjacent
 * states, by symbol. State 0 is the empty beginning.
 */
interface States {
  /** The last symbol. */
  symbols: Int32Array;
  parents: Int32Array;
  /** Where the states that continue each state begin; they end where those of the next state begin. */
  children: Int32Array;
  /** The sequence that ends in a state, plus 1; 0 if there is none. */
  found: Int32Array;
}

function grow(sequences: readonly (readonly number[])[]): States {
  const size = sequences.reduce((total, sequence) => total + sequence.length, 1);
  const [symbols, parents, found] = [new Int32Array(size), new Int32Array(size), new Int32Array(size)];
  let open = [...sequences.entries()]
    .sort(([, a], [, b]) => compareSequences(a, b))
    .map(([index, sequence]) => ({ index, sequence, state: 0 }));
  let count = 1;
  for (let depth = 0; open.length > 0; depth++) {
    for (const one of open) {
      const symbol = one.sequence[depth] ?? 0;
      const isKnown = parents[count - 1] === one.state && symbols[count - 1] === symbol;
      if (!isKnown) {
        parents[count] = one.state;
        symbols[count] = symbol;
        count++;
      }
      one.state = count - 1;
      if (one.sequence.length === depth + 1) found[one.state] = one.index + 1;
    }
    open = open.filter(({ sequence }) => sequence.length > depth + 1);
  }
  return {
    symbols: symbols.slice(0, count),
    parents: parents.slice(0, count),
    children: childrenOf(parents, count),
    found: found.slice(0, count),
  };
}

export function compareSequences(a: readonly number[], b: readonly number[]): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return (a[at] ?? 0) - (b[at] ?? 0);
}

function childrenOf(parents: Int32Array, count: number): Int32Array {
  const children = new Int32Array(count + 1);
  let child = 1;
  for (let state = 0; state < count; state++) {
    children[state] = child;
    while (child < count && parents[child] === state) child++;
  }
  children[count] = count;
  return children;
}

/**
 * Computes, for each state, where to continue if there is no step, and the next shorter sequence that ends
 * there.
 */
function link({ symbols, parents, found }: States, next: Next) {
  const fallback = new Int32Array(found.length);
  const shorter = new Int32Array(found.length);
  for (let state = 1; state < found.length; state++) {
    const parent = parents[state] ?? 0;
    const back = parent === 0 ? 0 : follow(next, fallback, fallback[parent] ?? 0, symbols[state] ?? 0);
    fallback[state] = back;
    shorter[state] = found[back] === 0 ? (shorter[back] ?? 0) : back;
  }
  return { fallback, shorter };
}

function follow(next: Next, fallback: Int32Array, from: number, symbol: number): number {
  if (symbol === 0) return 0;
  let state = from;
  let to = next(state, symbol);
  while (to === 0 && state !== 0) {
    state = fallback[state] ?? 0;
    to = next(state, symbol);
  }
  return to;
}

/** The state to which a symbol leads from a state; 0 if there is none. */
type Next = (state: number, symbol: number) => number;

/**
 * Searches the steps of a state by halves. There is no hash table, because phrases can be chosen to collide in it: a thousand
 * took 16 s to compile, and then each post 1.2 s. The first step is the most frequent one and has thousands of symbols to
 * choose from: it counts the set bits before a symbol, which is the number of its state.
 */
function createSteps({ symbols, children }: States): Next {
  const firsts = children[1] ?? 1;
  const bits = new Int32Array(((symbols[firsts - 1] ?? 0) >>> 5) + 1);
  const before = new Int32Array(bits.length);
  for (let state = 1; state < firsts; state++) {
    const symbol = symbols[state] ?? 0;
    bits[symbol >>> 5] = (bits[symbol >>> 5] ?? 0) | (1 << (symbol & 31));
  }
  for (let i = 1; i < bits.length; i++) before[i] = (before[i - 1] ?? 0) + bitCount(bits[i - 1] ?? 0);

  function first(symbol: number): number {
    const word = bits[symbol >>> 5] ?? 0;
    const bit = 1 << (symbol & 31);
    return (word & bit) === 0 ? 0 : 1 + (before[symbol >>> 5] ?? 0) + bitCount(word & (bit - 1));
  }
  return (state, symbol) => {
    if (state === 0) return first(symbol);
    let low = children[state] ?? 0;
    const end = children[state + 1] ?? 0;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((symbols[middle] ?? 0) < symbol) low = middle + 1;
      else high = middle;
    }
    return low < end && symbols[low] === symbol ? low : 0;
  };
}

/** The number of set bits. */
function bitCount(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
