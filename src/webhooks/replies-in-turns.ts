import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.ts';
import { createFifo } from '../lib/queues.ts';

/**
 * What of one reply is parsed at a time. undici makes an error with its stack of each header after the first that is too
 * many, and destroys the connection with it: 64 KB in one piece were 150 ms of them, where 1 KB is at most 3.
 */
const SLICE_BYTES = 1_024;
/** What parsing may take of one turn of the event loop, for all connections together. */
const MAX_TURN_MS = 2;
/** The same bound where a clock stands still. */
const MAX_TURN_SLICES = 256;

/** Small replies that pass before the turn is looked at: to end it takes 6 us, a fifth of what a reply costs undici. */
const FREE_PASSES = 16;

/** What of one connection has come and is not parsed yet. */
interface Reading {
  readonly heldBytes: number;
  /** Hands on the next slice. */
  advance(): void;
  /** Nothing of it waited before. */
  isFresh: boolean;
}

const readings = new WeakMap<Socket, Reading>();

/** Bytes of a connection that have come and that its parser does not know of. */
export function heldBytes(socket: Socket): number {
  return readings.get(socket)?.heldBytes ?? 0;
}

/**
 * Has what comes in on connections that we made parsed in small slices, connections taking turns, as
 * `http/turns.ts` does for those that others make. Node reads 64 KB of each socket that is ready before it looks for
 * anything else: a hundred receivers with replies of nothing but headers kept everybody waiting for two seconds.
 *
 * Bytes are held before they are pushed into the socket's stream, and no more is read while some are held. A small reply
 * passes at once unless this turn of the event loop has parsed its share.
 */
export function createReplyTurns(clock: Pick<Clock, 'monotonic'>): (socket: Socket) => void {
  const fresh = createFifo<Reading>();
  const rest = createFifo<Reading>();
  let steps = 0;
  let began = Number.NaN;
  let slices = 0;
  let passes = 0;
  let isRestFirst = false;

  /** What is being worked through, or was a moment ago. */
  let current: Reading | null = null;
  let hasCurrent = false;

  const waiting = () => fresh.size + rest.size + (hasCurrent ? 1 : 0);

  /**
   * Of those that sent much one after the other is parsed to the end of what came: a parser keeps 2 MB of a reply of
   * nothing but headers, and 800 of them, each a slice further in turn, 1.7 GB.
   */
  function nextOfRest(): Reading | undefined {
    if (!hasCurrent) current = rest.shift() ?? null;
    hasCurrent = false;
    return current ?? undefined;
  }

  const nextOfFresh = () => fresh.shift();

  /** Whether this turn has room for another slice, which is then counted. */
  function takeRoom(): boolean {
    if (Number.isNaN(began)) began = clock.monotonic();
    if (slices >= MAX_TURN_SLICES || clock.monotonic() - began >= MAX_TURN_MS) return false;
    slices++;
    return true;
  }

  /** The parser runs when the step that pushed a slice is over, so that each slice has a step of its own. */
  function schedule(): void {
    if (steps > 0) return;
    steps = Math.max(1, Math.min(MAX_TURN_SLICES, waiting()));
    for (let n = 0; n < steps; n++) setImmediate(step, n === 0);
  }

  function step(isFirst: boolean): void {
    steps--;
    if (isFirst) {
      began = Number.NaN;
      slices = 0;
      passes = 0;
      if (waiting() > 0) takeRoom();
      // Every other turn one that sent much goes first: others that begin all the time do not keep it from its end.
      isRestFirst = !isRestFirst;
      const [first, second] = isRestFirst ? [nextOfRest, nextOfFresh] : [nextOfFresh, nextOfRest];
      (first() ?? second())?.advance();
    } else if (waiting() > 0 && takeRoom()) (nextOfFresh() ?? nextOfRest())?.advance();
    if (steps === 0 && waiting() > 0) schedule();
  }

  function mayPass(): boolean {
    if (passes < FREE_PASSES) {
      passes++;
      return true;
    }
    schedule(); // its first step begins the next turn
    return takeRoom();
  }

  return (socket) => {
    const line = (reading: Reading) => {
      if (reading.isFresh) fresh.push(reading);
      else if (reading === current && !hasCurrent) hasCurrent = true;
      else rest.push(reading);
      schedule();
    };
    readings.set(socket, readSocket(socket, { line, mayPass }));
  };
}

interface Turns {
  line(reading: Reading): void;
  mayPass(): boolean;
}

function readSocket(socket: Socket, { line, mayPass }: Turns): Reading {
  const push = socket.push.bind(socket);
  const read = socket._read.bind(socket);
  const slices = createFifo<Buffer>();
  let heldBytes = 0;
  let hasEnded = false;

  function end(): void {
    hasEnded = false;
    push(null);
    socket.read(0); // as Node does at the end of what comes: a stream that nobody reads learns of it
  }

  const reading: Reading = {
    isFresh: true,
    get heldBytes() {
      return heldBytes;
    },
    advance() {
      const slice = slices.shift();
      if (slice === undefined || socket.destroyed) return;
      heldBytes -= slice.length;
      reading.isFresh = slices.size === 0;
      push(slice);
      if (slices.size > 0) line(reading);
      else if (hasEnded) setImmediate(() => !socket.destroyed && end());
    },
  };

  socket.push = (bytes: Buffer | null) => {
    if (bytes === null) {
      if (slices.size > 0) hasEnded = true;
      else return push(null);
      return false;
    }
    if (slices.size === 0 && bytes.length <= SLICE_BYTES && mayPass()) return push(bytes);
    const isWaiting = slices.size > 0;
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) slices.push(bytes.subarray(at, at + SLICE_BYTES));
    heldBytes += bytes.length;
    if (!isWaiting) line(reading);
    return false; // Node reads on when it is asked to, below
  };
  socket._read = (size) => {
    if (slices.size === 0) read(size);
  };
  socket.once('close', () => {
    slices.clear();
    heldBytes = 0;
  });
  return reading;
}
