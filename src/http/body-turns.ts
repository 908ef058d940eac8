import { standInLine } from '../lib/yielding.ts';
import { oncePerTurn } from './turns.ts';

/**
 * Bodies are parsed immediately until this many bytes have been parsed in a turn of the event loop; the rest are queued. Bodies of 8 KB whose values cost more
 * to validate than all else took 120 ms when 64 ended together, and 5 MiB take at least 10 ms. 400 bodies of 250 KB whose last bytes arrived together blocked
 * the event loop for 300 ms, with an idempotency key for one second; 100 forms of 500 KB for 1.9 s.
 */
const TURN_BYTES = 64 * 1024;

/** Returns a function that calls `parse` for a body of that size in bytes: immediately or, if much was parsed in this turn, in a later one. */
export function createBodyTurns(): (owner: string, bytes: number, parse: () => void) => void {
  let turnBytes = 0;
  const endTurn = oncePerTurn(() => {
    turnBytes = 0;
  });
  return (owner, bytes, parse) => {
    if (turnBytes + bytes > TURN_BYTES) return void standInLine(owner).then(parse);
    turnBytes += bytes;
    endTurn();
    parse();
  };
}
