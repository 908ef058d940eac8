import { constants } from 'node:crypto';
import { isIPv6, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { DEFAULT_CIPHERS, type TLSSocket } from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import { networkOf } from '../lib/network.ts';
import { createFairQueue, createFifo } from '../lib/queues.ts';
import { createReleases, runInTurn } from '../lib/yielding.ts';
import { createHandshakeRecords } from './handshake-records.ts';

/**
 * Maximum number of bytes received before a connection is secure. Common chains of certificates are under 8 KB; OpenSSL
 * accepts 100 KB, which it checks in one piece, in up to a second, even if no authority signed them. Of 12 KB, the most costly
 * ones known take 140 ms: names of URLs below constraints on them, then DSA keys of 10,000 bits; of 16 KB, 220 ms.
 */
const MAX_HANDSHAKE_BYTES = 12_288;
/** Maximum time of handshakes in one turn of the event loop, unless a single step takes longer. */
const MAX_TURN_MS = 5;
/**
 * A step that took this long makes its server wait for all others. It is followed by a pause of its length for servers of
 * which no handshake has completed yet, and of several times its length for costly ones.
 */
const [LONG_STEP_MS, PAUSE_FACTOR] = [20, 3];
/** Number of servers that are remembered. */
const [MOST_COSTLY, MOST_PROVEN] = [1_000, 10_000];

/** What all our TLS clients allow servers to do. */
export const TLS_LIMITS = {
  // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED can change the default.
  rejectUnauthorized: true,
  // In TLS 1.2, a server may choose the numbers of a Diffie-Hellman exchange; of 10,000 bits, they take a second.
  ciphers: `${DEFAULT_CIPHERS}:!DHE`,
  // A second handshake would be neither limited nor in turn.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const;

/** The stream between a TCP connection and its TLS client. */
export interface HandshakeStream extends Duplex {
  /**
   * Calls `start`, which creates the client, in a turn of the handshakes, unless the connection is closed before. A client and its first message take
   * 0.3 ms, and thousands of connections may be established in one turn of the event loop.
   */
  begin(start: () => void): void;
  /** Serves `client`, which reads this stream. Bytes that the connection received earlier have been consumed by another reader. */
  serve(client: TLSSocket): void;
}

/**
 * Lets the TLS handshakes of our outgoing connections take turns, and limits their size. Node checks certificates on the
 * main thread as soon as they arrive, for all sockets that are ready, before it does anything else; a chain of
 * keys with long exponents takes 7 ms per certificate. Its own sockets hand received bytes to OpenSSL unseen, so
 * the TLS client is given this stream in place of the socket.
 *
 * Servers that may be costly take turns by owner: eight hundred of one tenant made the first handshake with a server of
 * another wait for its timeout.
 */
export function createHandshakes(
  clock: Pick<Clock, 'monotonic' | 'after'>,
): (tcp: Socket, owner: string) => HandshakeStream {
  const waiting = createFifo<Step>();
  /** Steps of servers of which no handshake has completed yet. */
  const unproven = createFairQueue<Step>();
  /** Steps of servers whose previous ones took long. */
  const costly = createFairQueue<Step>();
  const costlyServers = new LRUCache<string, true>({ max: MOST_COSTLY });
  const provenServers = new LRUCache<string, true>({ max: MOST_PROVEN });
  let isScheduled = false;
  let unprovenPausedUntil = Number.NEGATIVE_INFINITY;
  let costlyPausedUntil = Number.NEGATIVE_INFINITY;
  let isPaused = false;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    // Those of deliveries and of sources do not share a turn: a single step may take 140 ms.
    runInTurn(turn);
  }

  function next(now: number): Step | undefined {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      if (costlyServers.has(step.server)) costly.push(step.owner, step);
      else if (provenServers.has(step.server)) return step;
      else unproven.push(step.owner, step);
    }
    while (unproven.size > 0 && now >= unprovenPausedUntil) {
      const step = unproven.next();
      if (step !== undefined && !costlyServers.has(step.server)) return step;
      if (step !== undefined) costly.push(step.owner, step);
    }
    return now < costlyPausedUntil ? undefined : costly.next();
  }

  function turn(): void {
    isScheduled = false;
    const began = clock.monotonic();
    for (let now = began; now - began < MAX_TURN_MS; ) {
      const step = next(now);
      if (step === undefined) break;
      const isComplete = step.advance();
      const tookMs = clock.monotonic() - now;
      now += tookMs;
      if (tookMs < LONG_STEP_MS) continue;
      if (!isComplete) costlyServers.set(step.server, true);
      unprovenPausedUntil = now + tookMs;
      costlyPausedUntil = now + PAUSE_FACTOR * tookMs;
    }
    continueAfterPause(clock.monotonic());
  }

  function continueAfterPause(now: number): void {
    const pauseMs = Math.min(
      waiting.size > 0 ? 0 : Number.POSITIVE_INFINITY,
      unproven.size > 0 ? unprovenPausedUntil - now : Number.POSITIVE_INFINITY,
      costly.size > 0 ? costlyPausedUntil - now : Number.POSITIVE_INFINITY,
    );
    if (pauseMs <= 0) schedule();
    else if (pauseMs < Number.POSITIVE_INFINITY && !isPaused) {
      isPaused = true;
      clock.after(pauseMs, () => {
        isPaused = false;
        schedule();
      });
    }
  }

  // Node closes a TLS client in 0.2 ms: 1,600 connections that were reset or ended together took 0.3 to 0.5 s.
  const release = createReleases();

  return (tcp, owner) => {
    const line = (advance: Step['advance']) => {
      waiting.push({ server: serverOf(tcp), owner, advance });
      schedule();
    };
    const onSecured = () => {
      const server = serverOf(tcp);
      provenServers.set(server, true);
      // A step takes long on a busy machine, too, and a chain that an authority signed is not costly.
      costlyServers.delete(server);
    };
    return new Handshake(tcp, { line, onSecured, release });
  };
}

/** An IPv4 address, or an IPv6 network: one owner has all of its addresses. */
function serverOf({ remoteAddress: address = '' }: Socket): string {
  return isIPv6(address) ? networkOf(address) : address;
}

/** The start of a handshake, or bytes received for it. */
interface Step {
  server: string;
  owner: string;
  /** Starts it, or passes them on; returns whether that completed the handshake or cost next to nothing. */
  advance(): boolean;
}

interface HandshakeDeps {
  line(advance: Step['advance']): void;
  onSecured(): void;
  /** Closes clients in turns. */
  release(close: () => void): void;
}

class Handshake extends Duplex implements HandshakeStream {
  readonly #tcp: Socket;
  readonly #deps: HandshakeDeps;
  #receivedBytes = 0;
  #isSecured = false;
  /** What waits for its turn: received bytes, and null for their end. */
  readonly #held: (Buffer | null)[] = [];
  readonly #records = createHandshakeRecords();
  #isPassing = false;

  constructor(tcp: Socket, deps: HandshakeDeps) {
    super();
    this.#tcp = tcp;
    this.#deps = deps;
  }

  begin(start: () => void): void {
    this.#deps.line(() => {
      if (!this.#tcp.destroyed) start();
      return true;
    });
  }

  serve(client: TLSSocket): void {
    // Encrypted records wait for the lines of the key log.
    client.on('keylog', (line: Buffer) => this.#records.learn(line));
    client.once('secureConnect', () => this.#secured());
    client.once('close', () => this.destroy());
    const tcp = this.#tcp;
    tcp.on('data', (bytes: Buffer) => {
      if (this.#isSecured && this.#held.length === 0) {
        if (this.#endsAnother(bytes)) return;
        // As `push` would do, which takes several times as long.
        if (this.readableFlowing === true && this.readableLength === 0) this.emit('data', bytes);
        else if (!this.push(bytes)) tcp.pause();
        return;
      }
      // What is held after that is a response, which may be longer.
      if (!this.#isSecured) this.#receivedBytes += bytes.length;
      if (this.#receivedBytes > MAX_HANDSHAKE_BYTES) {
        this.destroy(new HandshakeError('ERR_TLS_HANDSHAKE_SIZE'));
        return;
      }
      this.#hold(bytes);
    });
    let hasEnded = false;
    tcp.once('end', () => {
      hasEnded = true;
      if (this.destroyed) return;
      if (this.#isSecured && this.#held.length === 0)
        this.#deps.release(() => void (this.destroyed || this.push(null)));
      else this.#hold(null);
    });
    tcp.on('error', (error) => {
      const isRead = this.readableFlowing === true && this.readableLength === 0;
      if (!this.#isSecured || hasEnded || isRead || tcp.readableLength > 0) {
        this.#close(error);
        return;
      }
      // All bytes before the reset have arrived, and their reader is paused: it sees the end of the connection after them.
      hasEnded = true;
      this.push(null);
    });
    // After its end, bytes may be waiting here for a reader that was paused.
    tcp.once('close', () => void (hasEnded || this.#close()));
  }

  #close(error?: Error): void {
    this.#deps.release(() => this.destroy(error));
  }

  /** Whatever arrives until its turn is passed on together, so that a handshake waits for few turns. */
  #hold(bytes: Buffer | null): void {
    if (this.#held.push(bytes) > 1) return;
    this.#deps.line(() => {
      for (const one of this.#held.splice(0)) this.#pass(one);
      return this.#isSecured;
    });
  }

  /** Passes on received bytes, or null for their end; during the handshake, in records that OpenSSL may read. */
  #pass(bytes: Buffer | null): void {
    if (bytes !== null) this.#records.add(bytes);
    this.#isPassing = true;
    while (!this.destroyed && !this.#isSecured) {
      const record = this.#records.next();
      if (record === null) break;
      if (this.#records.isHostile) this.destroy(new HandshakeError('ERR_TLS_OWN_CURVE'));
      else this.push(record);
    }
    this.#isPassing = false;
    if (this.#isSecured) this.#passRest();
    if (bytes === null && !this.destroyed) this.push(null);
  }

  #passRest(): void {
    const rest = this.#records.rest();
    if (rest.length > 0 && !this.destroyed && !this.#endsAnother(rest)) this.push(rest);
  }

  #endsAnother(bytes: Buffer): boolean {
    const isAnother = this.#records.isAnother(bytes);
    if (isAnother) this.destroy(new HandshakeError('ERR_TLS_ANOTHER_HANDSHAKE'));
    return isAnother;
  }

  /** The handshake is complete: further bytes are neither counted nor held. */
  #secured(): void {
    this.#isSecured = true;
    this.#deps.onSecured();
    if (!this.#isPassing) this.#passRest();
  }

  override _read(): void {
    if (this.#isSecured) this.#tcp.resume();
  }

  override _write(bytes: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#tcp.write(bytes, done);
  }

  override _final(done: () => void): void {
    this.#tcp.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#tcp.destroy();
    done(error);
  }
}

const MESSAGES = {
  ERR_TLS_HANDSHAKE_SIZE: `The TLS handshake is longer than ${MAX_HANDSHAKE_BYTES} bytes.`,
  ERR_TLS_ANOTHER_HANDSHAKE: 'The server requested another TLS handshake.',
  ERR_TLS_OWN_CURVE: 'A key of the TLS handshake is on a curve without a name.',
};

class HandshakeError extends Error {
  override readonly name = 'HandshakeError';
  readonly code: string;
  constructor(code: keyof typeof MESSAGES) {
    super(MESSAGES[code]);
    this.code = code;
  }
}
