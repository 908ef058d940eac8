import { errors, type Dispatcher as Undici } from 'undici';
import { type Clock, HOUR_MS, readRetryAfter } from '../lib/clock.ts';
import type { AttemptErrorCode, AttemptRecord } from '../model/delivery.ts';
import { CONNECT_MESSAGES, ConnectError, codeOf, type Dial, systemFault } from '../webhooks/connect.ts';
import { type Alarms, createAlarm } from './alarms.ts';
import type { Pools, RequestHandler } from './pools.ts';

/** One POST to one receiver, in the form that undici takes. */
export interface SendRequest {
  method: 'POST';
  /** Scheme, host and port. */
  origin: string;
  /** Path and query. */
  path: string;
  /** Name and value in turn: an object costs undici several times as much to read. */
  headers: string[];
  body: Buffer;
  /** From name resolution to the end of the reply. */
  timeoutMs: number;
}

/** What came of it. A 2xx whose head was complete in time has no error, whatever its body then did. */
export interface SendResult extends Pick<AttemptRecord, 'response' | 'timings' | 'durationMs'> {
  error: AttemptFault | null;
  /** How long a 429 or 503 asked to wait, at most 1 h. */
  retryAfterMs: number | null;
  /** Sent a second time, on a connection of its own. */
  repeated: boolean;
  /** True where we cut it off ourselves, on shutdown or for want of a slot: it says nothing about the receiver. */
  cut: boolean;
}

/** What all requests share. */
export interface ExchangeDeps {
  clock: Clock;
  pools: Pools;
  deadlines: Alarms<Exchange>;
}

/**
 * One request, its reply and its deadline, and undici's handler, in one object. Never throws. Calls `onResult` once;
 * before {@link send} has returned where nothing could be sent.
 */
export abstract class Exchange implements RequestHandler {
  readonly #deadline = createAlarm<Exchange>(this);
  readonly #deps: ExchangeDeps;
  #request: SendRequest | null = null;
  #startedAt = 0;
  #controller: Undici.DispatchController | null = null;
  #dial: Dial | null = null;
  #answered = false;
  #again = false;
  #done = false;
  #reply: Reply | null = null;
  #connectedMs = -1;
  #headersMs = -1;

  constructor(deps: ExchangeDeps) {
    this.#deps = deps;
  }

  /**
   * Asked before it is sent a second time, where a kept-alive connection was closed at the first. Where it may not, the
   * request ends as cut.
   */
  protected abstract mayRepeat(): boolean;

  protected abstract onResult(result: SendResult): void;

  protected send(request: SendRequest): void {
    this.#request = request;
    this.#startedAt = this.#deps.clock.monotonic();
    this.#deps.deadlines.set(this.#deadline, this.#startedAt + request.timeoutMs);
    this.#dispatch(request);
  }

  #dispatch(request: SendRequest): void {
    try {
      if (this.#again) this.#deps.pools.dispatchFresh(request.origin, request, this);
      else this.#deps.pools.dispatch(request.origin, request, this);
    } catch (error) {
      this.#finish(faultOf(error), false);
    }
  }

  onDial(dial: Dial): void {
    if (this.#done) dial.cancel(new ConnectError('timeout'));
    else this.#dial = dial;
  }

  onConnected(): void {
    this.#connectedMs = this.#elapsed();
  }

  onRequestStart(controller: Undici.DispatchController): void {
    // Too late: throwing ends the request before a byte of it is written and leaves the connection as it was.
    if (this.#done) throw new ConnectError('timeout');
    this.#controller = controller;
  }

  onResponseStarted(): void {
    this.#answered = true;
  }

  onResponseStart(_: Undici.DispatchController, status: number, headers: Record<string, unknown>): void {
    if (status < 200 || this.#done) return; // 103 and its like come before the real head
    this.#headersMs = this.#elapsed();
    this.#reply = new Reply(status, headers as Record<string, string | string[]>);
  }

  onResponseData(_: Undici.DispatchController, chunk: Buffer): void {
    if (this.#reply === null || this.#done || this.#reply.add(chunk)) return;
    this.#conclude();
    this.#abort();
  }

  onResponseEnd(): void {
    this.#conclude();
  }

  onResponseError(_: Undici.DispatchController | null, error: Error): void {
    if (this.#done) return;
    if (isOurs(error)) this.#finish(faultOf(error), true);
    else if (this.#reply !== null) this.#conclude();
    // The receiver closed a kept-alive connection at the moment we used it: most likely it has not seen the request.
    else if (this.#dial === null && !this.#answered && !this.#again && isClosed(error)) {
      this.#repeat(error);
    } else this.#finish(faultOf(error), false);
  }

  #repeat(error: Error): void {
    if (this.#request === null || !this.mayRepeat()) {
      this.#finish(faultOf(error), true);
      return;
    }
    this.#again = true;
    this.#controller = null;
    this.#dispatch(this.#request);
  }

  /** Its deadline has come. */
  expire(): void {
    if (this.#done) return;
    if (this.#reply !== null) this.#conclude();
    else this.#finish(faultOf(new ConnectError('timeout')), false);
    this.#abort();
  }

  #abort(): void {
    const reason = new ConnectError('timeout');
    if (this.#controller !== null) this.#controller.abort(reason);
    else this.#dial?.cancel(reason);
  }

  /** Ends with the reply that is here. */
  #conclude(): void {
    if (this.#reply === null) return;
    const { status } = this.#reply;
    this.#finish(status >= 200 && status < 300 ? null : statusFault(status), false);
  }

  #finish(error: AttemptFault | null, cut: boolean): void {
    if (this.#done) return;
    this.#done = true;
    this.#deps.deadlines.set(this.#deadline, Number.POSITIVE_INFINITY);
    const reply = this.#reply;
    const waits = reply !== null && (reply.status === 429 || reply.status === 503);
    const asked = waits ? readRetryAfter(reply.headers['retry-after'], this.#deps.clock.now()) : null;
    this.onResult({
      response: reply?.record() ?? null,
      error,
      timings: this.#timings(),
      durationMs: this.#elapsed(),
      retryAfterMs: asked && Math.min(asked, HOUR_MS),
      repeated: this.#again,
      cut,
    });
  }

  #timings(): SendResult['timings'] {
    const timings: SendResult['timings'] = {};
    if (this.#connectedMs >= 0) timings.connectedMs = this.#connectedMs;
    if (this.#headersMs >= 0) timings.headersMs = this.#headersMs;
    return timings;
  }

  /** Milliseconds since the start, to a tenth. */
  #elapsed(): number {
    return Math.round((this.#deps.clock.monotonic() - this.#startedAt) * 10) / 10;
  }
}

/** True for what undici reports when we closed its pools. */
function isOurs(error: Error): boolean {
  return 'code' in error && (error.code === 'UND_ERR_DESTROYED' || error.code === 'UND_ERR_CLOSED');
}

const READ_BYTES = 65_536;
const KEEP_BYTES = 16_384;

/**
 * A reply as it comes in: its head whole, the first 16 KB of its body, and a count of what else was read. Bytes past the
 * kept ones are counted and dropped at once, so that an endless reply costs no memory.
 */
class Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly #chunks: Buffer[] = [];
  #kept = 0;
  #read = 0;

  constructor(status: number, headers: Record<string, string | string[]>) {
    this.status = status;
    this.headers = headers;
  }

  /** Takes a piece of the body; false where enough was read and the connection should be cut. */
  add(chunk: Buffer): boolean {
    this.#read += chunk.length;
    if (this.#kept < KEEP_BYTES) {
      // A copy: a slice would keep undici's whole read buffer alive for a few bytes of it.
      const piece = Buffer.from(chunk.subarray(0, KEEP_BYTES - this.#kept));
      this.#kept += piece.length;
      this.#chunks.push(piece);
    }
    return this.#read < READ_BYTES;
  }

  /** The record for the log. Bytes are read as UTF-8; a character cut by the limit is left out. */
  record(): NonNullable<AttemptRecord['response']> {
    const body = this.#kept === 0 ? '' : textOf(this.#chunks, this.#read > this.#kept);
    return { status: this.status, headers: this.headers, body };
  }
}

function textOf(chunks: readonly Buffer[], cut: boolean): string {
  const [first] = chunks;
  const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
  // `stream` leaves out the bytes of an unfinished character instead of turning them into U+FFFD.
  return cut
    ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
    : bytes.toString();
}

/** An attempt's error as it is kept. */
export interface AttemptFault {
  code: AttemptErrorCode;
  message: string;
}

/** One fixed sentence a code, those of the way there among them. */
export const MESSAGES: Record<AttemptErrorCode, string> = {
  ...CONNECT_MESSAGES,
  http_status: 'The receiver answered with a status other than 2xx.',
  redirect: 'The receiver answered with a redirect; redirects are not followed.',
  internal: 'The delivery could not be prepared. The fault is ours; it has been logged.',
};

/** The fault of a request that ended without a complete reply head. */
function faultOf(error: unknown): AttemptFault {
  if (error instanceof ConnectError) return { code: error.code, message: error.message };
  const code = requestCode(error);
  return { code, message: MESSAGES[code] };
}

/** The fault of a reply that is no success. */
function statusFault(status: number): AttemptFault {
  const code = status >= 300 && status < 400 ? 'redirect' : 'http_status';
  return { code, message: MESSAGES[code] };
}

/** True where the other side closed or reset the connection, in whatever words. */
function isClosed(error: unknown): boolean {
  const code = codeOf(error);
  if (code === 'UND_ERR_SOCKET') return !/^bad /.test((error as Error).message);
  return code === 'ECONNRESET' || code === 'EPIPE';
}

function requestCode(error: unknown): AttemptErrorCode {
  if (isClosed(error)) return 'connection_reset';
  const code = codeOf(error);
  if (code === 'UND_ERR_SOCKET' || code === 'UND_ERR_HEADERS_OVERFLOW') return 'invalid_response';
  if (error instanceof errors.HTTPParserError) return 'invalid_response';
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) return 'tls';
  if (code.startsWith('UND_ERR_') || error instanceof TypeError) return 'internal';
  return systemFault(code);
}
