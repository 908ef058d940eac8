/**
 * Finds many sequences in one pass (Aho and Corasick, 1975): reading a symbol takes one or a few steps,
 * regardless of the number of sequences. Symbols are integers from 1; 0 is any symbol that occurs in no
 * sequence.
 */
export interface Automaton {
  /** Calls `visit` for each sequence that ends at each position, longest first. */
  scan(symbols: Int32Array, visit: (sequence: number, last: number) => void): void;
}

/** Builds the automaton of `sequences`, which must be distinct and not empty. */
export function buildAutomaton(sequences: readonly (readonly number[])[]): Automaton {
  const size = sequences.reduce((total, sequence) => total + sequence.length, 1);
  const steps = createSteps(size);
  /** The sequence that ends in a state, plus 1; 0 if there is none. */
  const found = new Int32Array(size);
  const states = grow(sequences, steps, found);
  const { fallback, shorter } = link(states, steps, found);

  function scan(symbols: Int32Array, visit: (sequence: number, last: number) => void): void {
    let state = 0;
    for (let at = 0; at < symbols.length; at++) {
      state = follow(steps, fallback, state, symbols[at] ?? 0);
      let ending = found[state] === 0 ? (shorter[state] ?? 0) : state;
      while (ending !== 0) {
        visit((found[ending] ?? 0) - 1, at);
        ending = shorter[ending] ?? 0;
      }
    }
  }
  return { scan };
}

/**
 * The parent of each state and the symbol between them, in order of creation: parents come before their
 * children.
 */
interface States {
  count: number;
  parents: Int32Array;
  symbols: Int32Array;
}

function grow(sequences: readonly (readonly number[])[], steps: Steps, found: Int32Array): States {
  const states = { count: 1, parents: new Int32Array(found.length), symbols: new Int32Array(found.length) };
  for (const [index, sequence] of sequences.entries()) {
    let state = 0;
    for (const symbol of sequence) {
      let next = steps.get(state, symbol);
      if (next === 0) {
        next = states.count++;
        states.parents[next] = state;
        states.symbols[next] = symbol;
        steps.set(state, symbol, next);
      }
      state = next;
    }
    found[state] = index + 1;
  }
  return states;
}

/**
 * Computes, for each state, where to continue if there is no step, and the next shorter sequence that ends
 * there.
 */
function link({ count, parents, symbols }: States, steps: Steps, found: Int32Array) {
  const fallback = new Int32Array(count);
  const shorter = new Int32Array(count);
  for (const state of byDepth(count, parents)) {
    const parent = parents[state] ?? 0;
    const back = parent === 0 ? 0 : follow(steps, fallback, fallback[parent] ?? 0, symbols[state] ?? 0);
    fallback[state] = back;
    shorter[state] = found[back] === 0 ? (shorter[back] ?? 0) : back;
  }
  return { fallback, shorter };
}

/** All states except the root, by depth: a link points to a state that is linked already. */
function byDepth(count: number, parents: Int32Array): Int32Array {
  const depths = new Int32Array(count);
  const places: number[] = [0];
  for (let state = 1; state < count; state++) {
    const depth = (depths[parents[state] ?? 0] ?? 0) + 1;
    depths[state] = depth;
    places[depth + 1] = (places[depth + 1] ?? 0) + 1;
  }
  for (let depth = 1; depth < places.length; depth++) {
    places[depth] = (places[depth] ?? 0) + (places[depth - 1] ?? 0);
  }
  const order = new Int32Array(count - 1);
  for (let state = 1; state < count; state++) {
    const depth = depths[state] ?? 0;
    const place = places[depth] ?? 0;
    places[depth] = place + 1;
    order[place] = state;
  }
  return order;
}

function follow(steps: Steps, fallback: Int32Array, from: number, symbol: number): number {
  if (symbol === 0) return 0;
  let state = from;
  let next = steps.get(state, symbol);
  while (next === 0 && state !== 0) {
    state = fallback[state] ?? 0;
    next = steps.get(state, symbol);
  }
  return next;
}

/** Transitions between states by symbol; 0 if there is none. */
interface Steps {
  get(state: number, symbol: number): number;
  set(state: number, symbol: number, next: number): void;
}

/**
 * A hash table in three integer arrays. A `Map` would need a key combining two numbers, and twenty times the
 * memory.
 */
function createSteps(size: number): Steps {
  const bits = Math.max(4, 33 - Math.clz32(size));
  const mask = 2 ** bits - 1;
  const states = new Int32Array(mask + 1);
  const symbols = new Int32Array(mask + 1);
  const nexts = new Int32Array(mask + 1);

  function place(state: number, symbol: number): number {
    let at = (Math.imul(state, 0x9e3779b1) ^ Math.imul(symbol, 0x85ebca6b)) >>> (32 - bits);
    while (nexts[at] !== 0 && (states[at] !== state || symbols[at] !== symbol)) at = (at + 1) & mask;
    return at;
  }
  return {
    get: (state, symbol) => nexts[place(state, symbol)] ?? 0,
    set(state, symbol, next) {
      const at = place(state, symbol);
      states[at] = state;
      symbols[at] = symbol;
      nexts[at] = next;
    },
  };
}
