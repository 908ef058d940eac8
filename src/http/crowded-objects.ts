import { endOfString } from '../lib/json.ts';

/** No object of any valid request has more members than this. */
const MOST_MEMBERS = 1_000;
/** A text with fewer members in all is not looked at again. */
const CROWDED = 20_000;

/** Stands in an object for the members that were left out of it; its value is their number. */
export const LEFT_OUT = '(further members)';

/**
 * The text without what follows the first {@link MOST_MEMBERS} members of an object, whose number stands in their place: to make
 * objects of half a million members and list their names takes a second, to pass them by a twentieth of that. Members
 * of the outermost object that are `known` stay. Such a body is refused whatever is left of it, so that it need not be JSON
 * where it is cut.
 */
export function thinOut(text: string, members: number, known: ReadonlySet<string>): string {
  if (members < CROWDED) return text;
  const counts: number[] = []; // of each object that is open; NaN for lists
  const leftOut: number[] = []; // likewise; a name that stands twice has its last value
  const pieces: string[] = [];
  let [keptTo, commaAt, cutFrom, cutDepth, atKey] = [0, 0, -1, 0, false];

  function keepFrom(place: number): void {
    pieces.push(text.slice(keptTo, cutFrom), `,"${LEFT_OUT}":${leftOut[cutDepth - 1]}`);
    [keptTo, cutFrom] = [place, -1];
  }

  function meetKey(start: number, end: number): void {
    const depth = counts.length;
    if (cutFrom !== -1 && depth !== cutDepth) return;
    const count = (counts[depth - 1] ?? 0) + 1;
    counts[depth - 1] = count;
    const stays = count <= MOST_MEMBERS || (depth === 1 && known.has(text.slice(start, end)));
    if (stays) {
      if (cutFrom !== -1) keepFrom(commaAt);
      return;
    }
    if (cutFrom === -1) [cutFrom, cutDepth] = [commaAt, depth];
    leftOut[depth - 1] = (leftOut[depth - 1] ?? 0) + 1;
  }

  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) {
      const end = endOfString(text, i);
      if (atKey) meetKey(i + 1, end);
      atKey = false;
      i = end;
    } else if (char === COMMA) {
      atKey = !Number.isNaN(counts.at(-1) ?? Number.NaN);
      if (cutFrom === -1 || counts.length === cutDepth) commaAt = i;
    } else if (char === OPEN_OBJECT) {
      counts.push(0);
      leftOut.push(0);
      atKey = true;
    } else if (char === OPEN_LIST) {
      counts.push(Number.NaN);
      leftOut.push(0);
    } else if (char === CLOSE_OBJECT || char === CLOSE_LIST) {
      if (cutFrom !== -1 && counts.length === cutDepth) keepFrom(i);
      counts.pop();
      leftOut.pop();
      atKey = false;
    }
  }
  return pieces.join('') + text.slice(keptTo);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
