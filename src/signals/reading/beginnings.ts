/** How a word begins that stands in whatever a pattern matches; `whole`: the word is no longer than that. */
export interface Beginning {
  text: string;
  whole: boolean;
}

type Piece =
  | { kind: 'letter'; letter: string }
  /** A character that belongs to no word. */
  | { kind: 'apart' }
  /** `\b` or `^`. */
  | { kind: 'edge' }
  /** Takes no characters: what is looked ahead for, and `$`. */
  | { kind: 'nothing' }
  | { kind: 'unknown' }
  | { kind: 'choice'; branches: Item[][] };

interface Item {
  piece: Piece;
  /** Whether it must be there, and whether it is there no more than once. */
  needed: boolean;
  once: boolean;
}

interface Reading {
  beginnings: Beginning[] | null;
  /** Whether a word can only begin, and not go on, where this ends. */
  edge: boolean;
}

/**
 * Beginnings of words of which at least one stands in every text that the pattern matches; null where none can be told.
 * Of several such sets, the one that fewest texts have. Words are what `\w` says, so that a letter beyond ASCII parts them.
 */
export function beginningsOf({ source }: RegExp): Beginning[] | null {
  const parser = new Parser(source);
  return readChoice(parser.branches(), false, false).beginnings;
}

function readChoice(branches: Item[][], edge: boolean, ends: boolean): Reading {
  const readings = branches.map((items) => readBranch(items, edge, ends));
  const sets = readings.map(({ beginnings }) => beginnings);
  return {
    beginnings: sets.every((set) => set !== null) ? sets.flat() : null,
    edge: readings.every((reading) => reading.edge),
  };
}

/** `edge`: where it begins no word goes on. `ends`: what follows ends the word that it ends in. */
function readBranch(items: Item[], edge: boolean, ends: boolean): Reading {
  let [best, word, atEdge]: [Beginning[] | null, string, boolean] = [null, '', edge];
  const close = (whole: boolean) => {
    if (word !== '') best = rarer(best, [{ text: word, whole }]);
    word = '';
  };
  for (const [i, { piece, needed, once }] of items.entries()) {
    if (piece.kind === 'letter') {
      if (needed && (word !== '' || atEdge)) word += piece.letter;
      if (!needed || !once) close(false);
      atEdge = false;
    } else if (piece.kind === 'apart') {
      close(needed);
      atEdge ||= needed;
    } else if (piece.kind === 'edge') {
      close(true);
      atEdge = true;
    } else if (piece.kind === 'choice') {
      close(false);
      const next = items[i + 1];
      const endsHere = once && (next === undefined ? ends : isEnd(next));
      const reading = readChoice(piece.branches, atEdge, endsHere);
      if (needed) best = rarer(best, reading.beginnings);
      const again = once || readChoice(piece.branches, false, false).edge;
      atEdge = reading.edge && again && (needed || atEdge);
    } else {
      close(false);
      if (piece.kind === 'unknown') atEdge = false;
    }
  }
  close(ends);
  return { beginnings: best, edge: atEdge };
}

function isEnd({ piece, needed }: Item): boolean {
  return needed && (piece.kind === 'apart' || piece.kind === 'edge');
}

function rarer(a: Beginning[] | null, b: Beginning[] | null): Beginning[] | null {
  if (a === null || b === null) return a ?? b;
  return frequencyOf(b) < frequencyOf(a) ? b : a;
}

/** As if all letters were alike: good enough to tell long words from short ones, and few from many. */
function frequencyOf(beginnings: readonly Beginning[]): number {
  return beginnings.reduce((sum, { text }) => sum + 26 ** -Math.min(text.length, 5), 0);
}

/** Of regular expressions what cues are written in; anything else takes unknown characters, or throws. */
class Parser {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** Up to the end of the group or the source. */
  branches(): Item[][] {
    const branches: Item[][] = [[]];
    while (this.#at < this.#source.length && this.#source[this.#at] !== ')') {
      if (this.#take('|')) branches.push([]);
      else branches.at(-1)?.push(this.#item());
    }
    return branches;
  }

  #item(): Item {
    const piece = this.#piece();
    if (this.#take('?')) return { piece, needed: false, once: true };
    if (this.#take('*')) return { piece, needed: false, once: false };
    if (this.#take('+')) return { piece, needed: true, once: false };
    const [all, from] = /^\{(\d+)(?:,\d*)?\}/.exec(this.#source.slice(this.#at, this.#at + 12)) ?? [''];
    this.#at += all.length;
    return { piece, needed: from !== '0', once: all === '' };
  }

  #piece(): Piece {
    for (const opening of ['(?:', '(?=', '(?!']) {
      if (!this.#take(opening)) continue;
      const branches = this.branches();
      if (!this.#take(')')) break;
      return opening === '(?:' ? { kind: 'choice', branches } : { kind: 'nothing' };
    }
    if (this.#take('(')) throw new Error(`A cue holds a group that is not understood: ${this.#source}`);
    if (this.#take('[')) return this.#class();
    if (this.#take('^')) return { kind: 'edge' };
    if (this.#take('$')) return { kind: 'nothing' };
    return this.#character();
  }

  #character(): Piece {
    const [char] = this.#source.slice(this.#at);
    this.#at++;
    if (char === '\\') {
      const escaped = this.#source[this.#at++] ?? '';
      if (escaped === 'b') return { kind: 'edge' };
      if (/[sW]/.test(escaped)) return { kind: 'apart' };
      return /\w/.test(escaped) ? { kind: 'unknown' } : { kind: 'apart' };
    }
    if (char === undefined || char === '.') return { kind: 'unknown' };
    return /\w/.test(char) ? { kind: 'letter', letter: char } : { kind: 'apart' };
  }

  /** `[...]`: apart where nothing in it belongs to a word. */
  #class(): Piece {
    const from = this.#at;
    while (this.#source[this.#at] !== ']') this.#at += this.#source[this.#at] === '\\' ? 2 : 1;
    const inside = this.#source.slice(from, this.#at++);
    const others = inside.replaceAll('\\s', '').replaceAll('\\W', '');
    return { kind: others.startsWith('^') || /\w/.test(others) ? 'unknown' : 'apart' };
  }

  #take(text: string): boolean {
    const is = this.#source.startsWith(text, this.#at);
    if (is) this.#at += text.length;
    return is;
  }
}
