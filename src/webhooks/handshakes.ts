import { isIPv6, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import { networkOf } from '../lib/network.ts';
import { createFifo } from '../lib/queues.ts';

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

/** The stream between a TCP connection and its TLS client. */
export interface HandshakeStream extends Duplex {
  /** The handshake is complete: further bytes are neither counted nor held. */
  secured(): void;
}

/**
 * Lets the TLS handshakes of our outgoing connections take turns, and limits their size. Node checks certificates on the
 * main thread as soon as they arrive, for all sockets that are ready, before it does anything else; a chain of
 * keys with long exponents takes 7 ms per certificate. Its own sockets hand received bytes to OpenSSL unseen, so
 * the TLS client is given this stream in place of the socket.
 */
export function createHandshakes(
  clock: Pick<Clock, 'monotonic' | 'after'>,
): (tcp: Socket) => HandshakeStream {
  const waiting = createFifo<Step>();
  /** Steps of servers of which no handshake has completed yet. */
  const unproven = createFifo<Step>();
  /** Steps of servers whose previous ones took long. */
  const costly = createFifo<Step>();
  const costlyServers = new LRUCache<string, true>({ max: MOST_COSTLY });
  const provenServers = new LRUCache<string, true>({ max: MOST_PROVEN });
  let isScheduled = false;
  let unprovenPausedUntil = Number.NEGATIVE_INFINITY;
  let costlyPausedUntil = Number.NEGATIVE_INFINITY;
  let isPaused = false;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(turn);
  }

  function next(now: number): Step | undefined {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      if (costlyServers.has(step.server)) costly.push(step);
      else if (provenServers.has(step.server)) return step;
      else unproven.push(step);
    }
    const step = now < unprovenPausedUntil ? undefined : unproven.shift();
    if (step !== undefined && costlyServers.has(step.server)) costly.push(step);
    else if (step !== undefined) return step;
    return now < costlyPausedUntil ? undefined : costly.shift();
  }

  function turn(): void {
    isScheduled = false;
    const began = clock.monotonic();
    for (let now = began; now - began < MAX_TURN_MS; ) {
      const step = next(now);
      if (step === undefined) break;
      step.advance();
      const tookMs = clock.monotonic() - now;
      now += tookMs;
      if (tookMs < LONG_STEP_MS) continue;
      costlyServers.set(step.server, true);
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

  return (tcp) => {
    const server = serverOf(tcp.remoteAddress ?? '');
    const line = (advance: () => void) => {
      waiting.push({ server, advance });
      schedule();
    };
    return new Handshake(tcp, line, () => provenServers.set(server, true));
  };
}

/** An IPv4 address, or an IPv6 network: one owner has all of its addresses. */
function serverOf(address: string): string {
  return isIPv6(address) ? networkOf(address) : address;
}

/** Passes received bytes of a handshake on. */
interface Step {
  server: string;
  advance(): void;
}

class Handshake extends Duplex implements HandshakeStream {
  readonly #tcp: Socket;
  readonly #onSecured: () => void;
  #receivedBytes = 0;
  #isSecured = false;

  constructor(tcp: Socket, line: (advance: () => void) => void, onSecured: () => void) {
    super();
    this.#tcp = tcp;
    this.#onSecured = onSecured;
    tcp.on('data', (bytes: Buffer) => {
      if (this.#isSecured) {
        // As `push` would do, which takes several times as long.
        if (this.readableFlowing === true && this.readableLength === 0) this.emit('data', bytes);
        else if (!this.push(bytes)) tcp.pause();
        return;
      }
      this.#receivedBytes += bytes.length;
      if (this.#receivedBytes > MAX_HANDSHAKE_BYTES) {
        this.destroy(new HandshakeError());
        return;
      }
      tcp.pause();
      line(() => {
        if (this.destroyed) return;
        this.push(bytes);
        tcp.resume();
      });
    });
    let hasEnded = false;
    const end = () => void (this.destroyed || this.push(null));
    tcp.once('end', () => {
      hasEnded = true;
      if (this.#isSecured) end();
      else line(end);
    });
    tcp.on('error', (error) => this.destroy(error));
    // After its end, bytes may be waiting here for a reader that was paused.
    tcp.once('close', () => void (hasEnded || this.destroy()));
  }

  secured(): void {
    this.#isSecured = true;
    this.#onSecured();
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

class HandshakeError extends Error {
  override readonly name = 'HandshakeError';
  readonly code = 'ERR_TLS_HANDSHAKE_SIZE';
  constructor() {
    super(`The TLS handshake is longer than ${MAX_HANDSHAKE_BYTES} bytes.`);
  }
}
