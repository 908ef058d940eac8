import type { Parser } from './documents/parser.ts';

/** Maximum size of robots.txt that is read (RFC 9309, section 2.5: at least 500 KiB). */
export const MAX_ROBOTS_BYTES = 512_000;
/**
 * Patterns are compared up to this length: a longer `Disallow` forbids everything with the same prefix, a
 * longer `Allow` is ignored.
 */
const MAX_PATTERN = 2_048;
/**
 * Wildcards are expensive to match. Patterns beyond these limits end at their first wildcard, with the same
 * effect.
 */
const MAX_WILD_RULES = 500;
const MAX_WILD_CHARS = 16_384;
/** Maximum time between two requests that a host can require. */
const MAX_DELAY_MS = 10 * 60_000;

interface Rule {
  allow: boolean;
  /** Must occur in the path in order, the first at its start. */
  parts: string[];
  /** Whether the last part must end the path. */
  ends: boolean;
  /** The longest matching rule counts (section 2.2.2). */
  length: number;
}

/**
 * The rules of a robots.txt that apply to us, in the form that crosses threads: two lists cost less than
 * 50,000 objects.
 */
export interface RobotsText {
  /** One pattern per line in {@link normalize}d form, with its parts joined by `*`; the first that matches decides. */
  patterns: string;
  /** For each pattern, the sum of {@link ALLOWS} and {@link ENDS}. */
  flags: Uint8Array;
  delayMs: number;
}

const ALLOWS = 1;
/** The last part must end the path. */
const ENDS = 2;

/** The rules of a robots.txt that apply to us. */
export interface RobotsRules {
  /**
   * `target` is a path with its query. Takes time proportional to its length times a bounded number of rules.
   */
  allows(target: string): boolean;
  /** `Crawl-delay` in milliseconds; 0: none. Not part of the RFC, but widely used. */
  delayMs: number;
  /** Approximate memory use. */
  bytes: number;
}

interface Group {
  rules: Rule[];
  delayMs: number;
  named: boolean;
}

/** Rules that allow everything. */
export const NO_RULES: RobotsRules = { allows: () => true, delayMs: 0, bytes: 64 };

/** Parses the groups for `robot`, or the default ones if none names it (RFC 9309, section 2.2.1). */
export function readRobots(text: string, robot: string): RobotsText {
  const ours: Group = { rules: [], delayMs: 0, named: false };
  const everybodys: Group = { rules: [], delayMs: 0, named: false };
  const budget = { wild: MAX_WILD_RULES, chars: MAX_WILD_CHARS };
  let current = new Set<Group>();
  let naming = false;
  for (const line of text.split(/[\r\n]+/)) {
    const [name, value] = fieldOf(line);
    if (name === 'user-agent') {
      if (!naming) current = new Set();
      naming = true;
      const token = /^[a-z_-]+/i.exec(value)?.[0]?.toLowerCase() ?? value;
      const group = token === robot.toLowerCase() ? ours : token === '*' ? everybodys : null;
      if (group !== null) current.add(group);
      if (group !== null) group.named = true;
    } else if (name === 'allow' || name === 'disallow') {
      naming = false;
      const rule = current.size === 0 ? null : toRule(name === 'allow', value, budget);
      if (rule !== null) for (const group of current) group.rules.push(rule);
    } else if (name === 'crawl-delay') {
      naming = false;
      for (const group of current) group.delayMs = delayOf(value);
    }
  }
  return sorted(ours.named ? ours : everybodys);
}

/** Parses robots.txt for a robot with a given name. */
export const robotsDocument: Parser<{ robot: string }, RobotsText> = {
  name: 'robots',
  parse: ({ body }, { robot }) => readRobots(Buffer.from(body).toString('utf8'), robot),
};

function fieldOf(line: string): [name: string, value: string] {
  const hash = line.indexOf('#');
  const bare = hash === -1 ? line : line.slice(0, hash);
  const colon = bare.indexOf(':');
  return colon === -1 ? ['', ''] : [bare.slice(0, colon).trim().toLowerCase(), bare.slice(colon + 1).trim()];
}

function delayOf(value: string): number {
  return /^\d{1,6}(\.\d{1,3})?$/.test(value) ? Math.min(Number(value) * 1_000, MAX_DELAY_MS) : 0;
}

/** Stands for bytes that are not UTF-8, which match no address. */
const REPLACEMENT = '\ufffd';

/**
 * Null if the rule has no effect. Patterns that are too expensive are truncated if they disallow, and ignored
 * if they allow.
 */
function toRule(allow: boolean, value: string, budget: { wild: number; chars: number }): Rule | null {
  if (value === '' || value.includes(REPLACEMENT)) return null;
  let pattern = value.slice(0, MAX_PATTERN);
  const long = value.length > MAX_PATTERN;
  if (long && allow) return null;
  if (pattern.includes('*')) {
    budget.wild--;
    budget.chars -= pattern.length;
    if (budget.wild < 0 || budget.chars < 0) {
      if (allow) return null;
      pattern = pattern.slice(0, pattern.indexOf('*'));
    }
  }
  const ends = !long && pattern.endsWith('$');
  const parts = (ends ? pattern.slice(0, -1) : pattern).split(/\*+/).map(normalize);
  return { allow, parts, ends, length: pattern.length };
}

/** Sorts rules so that the first match decides: the longest, and among equals the one that allows. */
function sorted({ rules, delayMs }: Group): RobotsText {
  const first = rules.toSorted((a, b) => b.length - a.length || Number(b.allow) - Number(a.allow));
  return {
    // No part contains a line break or a `*`: line breaks stay percent-encoded, and patterns are split at `*`.
    patterns: first.map(({ parts }) => parts.join('*')).join('\n'),
    flags: Uint8Array.from(first, ({ allow, ends }) => (allow ? ALLOWS : 0) + (ends ? ENDS : 0)),
    delayMs,
  };
}

/** Prepares rules for queries. They are kept as bytes, which are not more than those of the file. */
export function rulesOf({ patterns, flags, delayMs }: RobotsText): RobotsRules {
  const kept = Buffer.from(patterns, 'latin1');
  return {
    allows(target) {
      if (target === '/robots.txt') return true;
      const path = normalize(target);
      const list = flags.length === 0 ? [] : kept.toString('latin1').split('\n');
      const rule = list.findIndex((pattern, i) => matches(pattern, ((flags[i] ?? 0) & ENDS) !== 0, path));
      return rule === -1 || ((flags[rule] ?? 0) & ALLOWS) !== 0;
    },
    delayMs,
    bytes: 64 + kept.length + flags.length,
  };
}

/** Matches each part at its first occurrence after the previous one, without backtracking. */
function matches(pattern: string, ends: boolean, path: string): boolean {
  const wild = pattern.indexOf('*');
  if (wild === -1) return ends ? path === pattern : path.startsWith(pattern);
  if (!path.startsWith(pattern.slice(0, wild))) return false;
  const others = pattern.slice(wild + 1).split('*');
  let at = wild;
  const last = ends ? others.pop() : undefined;
  for (const part of others) {
    const found = path.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return last === undefined || (path.length - last.length >= at && path.endsWith(last));
}

/**
 * Section 2.2.2: compared as octets. Each becomes one character, whether percent-encoded or not, except that reserved ones and line breaks
 * stay percent-encoded.
 */
function normalize(text: string): string {
  return text
    .replace(/[^\x21-\x7e]+/g, (chars) => encodeURIComponent(chars.toWellFormed()))
    .replace(/%([0-9a-f]{2})/gi, (encoded, hex: string) => {
      const octet = String.fromCharCode(Number.parseInt(hex, 16));
      return /[A-Za-z0-9._~-]|[^\n!-~]/.test(octet) ? octet : encoded.toUpperCase();
    });
}
