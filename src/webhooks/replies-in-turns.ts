import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';
import { Duplex } from 'node:stream';
import type { Clock } from '../lib/clock.ts';
import { createFairQueue, createFifo } from '../lib/queues.ts';
import { stopReading } from '../lib/sockets.ts';

/**
 * Maximum size of a response chunk that is parsed at once. undici creates an error with a stack for each
 * header over the limit, and destroys the connection with it: 64 KB at once took 150 ms for them, 1 KB takes
 * at most 3.
 */
const SLICE_BYTES = 1_024;
/** Maximum time of parsing in one turn of the event loop, for all connections together. */
const MAX_TURN_MS = 2;
/** The corresponding limit if the clock stands still. */
const MAX_TURN_SLICES = 256;

/**
 * Maximum size of the small responses that pass before the turn is checked, all together: ending a turn takes 6 us, a fifth
 * of what a response costs undici. If they are hostile, their parsing takes at most 50 ms.
 */
const FREE_PASS_BYTES = 16_384;
/** What a chunk counts for at least: the 24 bytes with which TLS closes a connection cost 0.25 ms in all. */
const LEAST_PASS_BYTES = 128;

/**
 * Maximum number of bytes that are read from a socket before other sockets are. Node reads 64 KB, up to 32 times: 4,000 receivers
 * that wrote 200 KB each kept the process in one turn of the event loop for 1.1 s.
 */
const READ_BYTES = 4_096;
const readBuffer = Buffer.allocUnsafeSlow(READ_BYTES);

/** Opens a TCP connection whose received bytes are read in small pieces; see {@link createReplyTurns}. */
export function openInPieces(options: TcpNetConnectOpts): Socket {
  const socket: Socket = connect({
    ...options,
    onread: {
      buffer: readBuffer,
      callback: (length) => socket.push(Buffer.from(readBuffer.subarray(0, length))),
    },
  });
  // With `onread`, these would start and stop reading the socket even while bytes are held.
  const { read, pause, resume } = Duplex.prototype;
  return Object.assign(socket, { read, pause, resume });
}

/** Received bytes of one connection that are not parsed yet. */
interface Reading {
  readonly heldBytes: number;
  /** Passes on the next slice. */
  advance(): void;
  /** Whether nothing of it was waiting before. */
  isFresh: boolean;
}

const readings = new WeakMap<Socket, Reading>();

/**
 * The received bytes of a connection that its parser has not seen yet; undefined if they are not held. For a caller that asks
 * after each response: a search by socket takes 1 us.
 */
export function readingOf(socket: Socket): Pick<Reading, 'heldBytes'> | undefined {
  return readings.get(socket);
}

/**
 * Parses data received on our outgoing connections in small slices, with connections taking turns, as
 * `http/turns.ts` does for incoming ones. Node reads 64 KB from each ready socket before it does anything
 * else: a hundred receivers with responses of nothing but headers blocked everything for two seconds.
 *
 * Bytes are held before they are pushed into the socket's stream, and no more are read while some are held. A
 * small response passes immediately, unless this turn of the event loop has used up its share.
 *
 * A connection over TLS is read in turns twice: what OpenSSL reads from `below`, and what the parser reads. A record of 16 KB
 * can contain 700 session tickets, which take OpenSSL 6 ms and never reach the parser.
 *
 * Connections that end or are reset do so in turns that `release` grants; those that we close, immediately.
 *
 * Owners take turns: beside 24 endless responses of others, a feed of 3 MB took 3.7 s instead of 0.6.
 */
export function createReplyTurns(
  clock: Pick<Clock, 'monotonic'>,
  release: (end: () => void) => void,
): (socket: Socket, owner: string, below?: Socket) => void {
  const fresh = createFifo<Reading>();
  const rest = createFairQueue<Reading>();
  let steps = 0;
  let began = Number.NaN;
  let slices = 0;
  let passedBytes = 0;
  let isRestFirst = false;

  /** The connection being parsed, now or just before. */
  let current: Reading | null = null;
  let hasCurrent = false;

  const waiting = () => fresh.size + rest.size + (hasCurrent ? 1 : 0);

  /**
   * Large responses are parsed one after the other, each to the end of what has arrived: a parser keeps 2 MB
   * for a response of nothing but headers, and 800 of them in parallel took 1.7 GB.
   */
  function nextOfRest(): Reading | undefined {
    if (!hasCurrent) current = rest.next() ?? null;
    hasCurrent = false;
    return current ?? undefined;
  }

  const nextOfFresh = () => fresh.shift();

  /** Whether this turn has room for another slice; counts it if so. */
  function takeRoom(): boolean {
    if (Number.isNaN(began)) began = clock.monotonic();
    if (slices >= MAX_TURN_SLICES || clock.monotonic() - began >= MAX_TURN_MS) return false;
    slices++;
    return true;
  }

  /** The parser runs after the step that pushed a slice, so each slice has its own step. */
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
      passedBytes = 0;
      if (waiting() > 0) takeRoom();
      // In every other turn, a large response goes first, so that new ones do not keep it from completing.
      isRestFirst = !isRestFirst;
      const [first, second] = isRestFirst ? [nextOfRest, nextOfFresh] : [nextOfFresh, nextOfRest];
      (first() ?? second())?.advance();
    } else if (waiting() > 0 && takeRoom()) (nextOfFresh() ?? nextOfRest())?.advance();
    if (steps === 0 && waiting() > 0) schedule();
  }

  function mayPass(bytes: number): boolean {
    passedBytes += Math.max(LEAST_PASS_BYTES, bytes);
    if (passedBytes <= FREE_PASS_BYTES) return true;
    schedule(); // its first step starts the next turn
    return takeRoom();
  }

  return (socket, owner, below = socket) => {
    const encrypted = readings.get(below);
    const line = (reading: Reading) => {
      if (reading.isFresh) fresh.push(reading);
      else if (reading === current && !hasCurrent) hasCurrent = true;
      else rest.push(owner, reading);
      schedule();
    };
    readings.set(socket, readSocket(socket, { line, mayPass, release }, encrypted));
  };
}

interface Turns {
  line(reading: Reading): void;
  mayPass(bytes: number): boolean;
  /** Grants a turn to end a connection. */
  release(end: () => void): void;
}

function readSocket(
  socket: Socket,
  { line, mayPass, release }: Turns,
  encrypted: Reading | undefined,
): Reading {
  const push = socket.push.bind(socket);
  const read = socket._read.bind(socket);
  const chunks = createFifo<Buffer>();
  /** The chunk being passed on, and what of it remains. Slices are cut one at a time: 64 of each chunk, at once, kept the garbage collector busy. */
  let rest: Buffer | undefined;
  let heldBytes = 0;
  let hasEnded = false;

  function end(): void {
    hasEnded = false;
    if (socket.destroyed) return;
    push(null);
    socket.read(0); // as Node does at the end of the data: a stream without a reader is notified, too
  }

  const reading: Reading = {
    isFresh: true,
    get heldBytes() {
      return heldBytes + (encrypted?.heldBytes ?? 0);
    },
    advance() {
      rest ??= chunks.shift();
      if (rest === undefined || socket.destroyed) return;
      const slice = rest.subarray(0, SLICE_BYTES);
      rest = slice.length < rest.length ? rest.subarray(SLICE_BYTES) : undefined;
      heldBytes -= slice.length;
      reading.isFresh = heldBytes === 0;
      push(slice);
      if (heldBytes > 0) line(reading);
      else if (hasEnded) setImmediate(release, end);
    },
  };

  socket.push = (bytes: Buffer | null) => {
    if (bytes === null) {
      if (heldBytes > 0) hasEnded = true;
      else release(end);
      return false;
    }
    const isWaiting = heldBytes > 0;
    if (!isWaiting && bytes.length <= SLICE_BYTES && mayPass(bytes.length)) return push(bytes);
    chunks.push(bytes);
    heldBytes += bytes.length;
    if (!isWaiting) line(reading);
    return false; // Node continues reading on demand, below
  };
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error) => {
    if (socket.destroyed || !isReadError(error)) return destroy(error);
    stopReading(socket);
    release(() => destroy(error));
    return socket;
  };
  socket._read = (size) => {
    if (heldBytes === 0) read(size);
  };
  socket.once('close', () => {
    chunks.clear();
    rest = undefined;
    heldBytes = 0;
  });
  return reading;
}

/** Whether the system reports that a connection failed, such as `ECONNRESET`. */
function isReadError(error: Error | undefined): boolean {
  return error !== undefined && 'syscall' in error && error.syscall === 'read';
}
