import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import { createFifo } from '../lib/queues.ts';

/**
 * Maximum number of bytes received before a connection is secure. Common chains of certificates are under 8 KB; OpenSSL
 * accepts 100 KB, whose signatures it checks in one piece, in up to a second, even if no authority signed them.
 */
const MAX_HANDSHAKE_BYTES = 16_384;
/** Maximum time of handshakes in one turn of the event loop, unless a single step takes longer. */
const MAX_TURN_MS = 5;
/** A step that took this long makes its server wait for all others, and is followed by a pause of several times its length. */
const [LONG_STEP_MS, PAUSE_FACTOR] = [20, 3];
/** Number of costly servers that are remembered. */
const MOST_COSTLY = 1_000;

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
  /** Steps of servers whose previous ones took long. */
  const costly = createFifo<Step>();
  const costlyServers = new LRUCache<string, true>({ max: MOST_COSTLY });
  let isScheduled = false;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let isPaused = false;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(turn);
  }

  function next(now: number): Step | undefined {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      if (!costlyServers.has(step.server)) return step;
      costly.push(step);
    }
    return now < pausedUntil ? undefined : costly.shift();
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
      pausedUntil = now + PAUSE_FACTOR * tookMs;
    }
    const pauseMs = pausedUntil - clock.monotonic();
    if (waiting.size > 0 || (costly.size > 0 && pauseMs <= 0)) schedule();
    else if (costly.size > 0 && !isPaused) {
      isPaused = true;
      clock.after(pauseMs, () => {
        isPaused = false;
        schedule();
      });
    }
  }

  return (tcp) => {
    const server = tcp.remoteAddress ?? '';
    return new Handshake(tcp, (advance) => {
      waiting.push({ server, advance });
      schedule();
    });
  };
}

/** Passes received bytes of a handshake on. */
interface Step {
  server: string;
  advance(): void;
}

class Handshake extends Duplex implements HandshakeStream {
  readonly #tcp: Socket;
  #receivedBytes = 0;
  #isSecured = false;

  constructor(tcp: Socket, line: (advance: () => void) => void) {
    super();
    this.#tcp = tcp;
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
