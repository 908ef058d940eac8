import { errors, type Dispatcher as Undici } from 'undici';
import { type Clock, HOUR_MS, readRetryAfter } from '../lib/clock.ts';
import type { AttemptErrorCode, AttemptRecord } from '../model/delivery.ts';
import { CONNECT_MESSAGES, ConnectError, codeOf, type Dial, systemFault } from '../webhooks/connect.ts';
import { type Alarms, createAlarm } from './alarms.ts';
import type { Pools, RequestHandler } from './pools.ts';

/** A POST request to a receiver, in undici's format. */
export interface SendRequest {
  method: 'POST';
  /** Scheme, host and port. */
  origin: string;
  /** Path and query. */
  path: string;
  /** Alternating names and values: undici takes several times as long to read an object. */
  headers: string[];
  body: Buffer;
  /** From name resolution to the end of the response. */
  timeoutMs: number;
}

/**
 * The result of a request. A 2xx whose head was complete in time has no error, whatever happens to its body.
 */
export interface SendResult extends Pick<AttemptRecord, 'response' | 'timings' | 'durationMs'> {
  error: AttemptFault | null;
  /** Delay requested by a 429 or 503, at most 1 h. */
  retryAfterMs: number | null;
  /** Whether it was sent a second time, on a new connection. */
  repeated: boolean;
  /**
   * Whether we cancelled it, on shutdown or because of the rate limit: it says nothing about the receiver.
   */
  cut: boolean;
}

/** Dependencies shared by all requests. */
export interface ExchangeDeps {
  clock: Clock;
  pools: Pools;
  deadlines: Alarms<Exchange>;
}

/**
 * A request, its response and its deadline, and the handler for undici, in one object. Never throws. Calls
 * `onResult` once; if nothing could be sent, before {@link send} returns.
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

  abstract readonly tenantId: string;

  /**
   * Asks whether to send the request again, after a reused connection was closed on the first try. If not,
   * the request ends as cut.
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
    // Too late: throwing ends the request before any byte of it is written, and leaves the connection usable.
    if (this.#done) throw new ConnectError('timeout');
    this.#controller = controller;
  }

  onResponseStarted(): void {
    this.#answered = true;
  }

  onResponseStart(_: Undici.DispatchController, status: number, headers: Record<string, unknown>): void {
    if (status < 200 || this.#done) return; // interim responses such as 103 come before the final head
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
    // The receiver closed a reused connection just as we used it: most likely, it has not seen the request.
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

  /** The deadline has passed. */
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

  /** Ends the request with the response received so far. */
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

/** Whether undici reports that we closed its connections. */
function isOurs(error: Error): boolean {
  return 'code' in error && (error.code === 'UND_ERR_DESTROYED' || error.code === 'UND_ERR_CLOSED');
}

const READ_BYTES = 65_536;
const KEEP_BYTES = 16_384;
const EMPTY = Buffer.alloc(0);

/**
 * A response as it is received: its complete head, the first 16 KB of its body, and the number of bytes read.
 * Further bytes are counted and dropped, so that an endless response takes no memory.
 */
class Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  /**
   * The start of the body, in one growing buffer. With a buffer per chunk, one-byte chunks took 130 bytes each, and the
   * 800 responses that a tenant can have in flight over a gigabyte.
   */
  #body: Buffer = EMPTY;
  #kept = 0;
  #read = 0;

  constructor(status: number, headers: Record<string, string | string[]>) {
    this.status = status;
    this.headers = headers;
  }

  /** Adds a chunk of the body; false if enough was read and the connection should be closed. */
  add(chunk: Buffer): boolean {
    this.#read += chunk.length;
    if (this.#kept < KEEP_BYTES) this.#keep(chunk);
    return this.#read < READ_BYTES;
  }

  /** Copies the chunk: a slice would keep undici's whole read buffer alive. */
  #keep(chunk: Buffer): void {
    const kept = Math.min(KEEP_BYTES, this.#kept + chunk.length);
    if (kept > this.#body.length) {
      const body = Buffer.allocUnsafe(this.#kept === 0 ? kept : Math.min(KEEP_BYTES, 2 * kept));
      this.#body.copy(body, 0, 0, this.#kept);
      this.#body = body;
    }
    chunk.copy(this.#body, this.#kept, 0, kept - this.#kept);
    this.#kept = kept;
  }

  /**
   * The response as stored in the log. The body is decoded as UTF-8, without a character that the limit cuts
   * off.
   */
  record(): NonNullable<AttemptRecord['response']> {
    const body = textOf(this.#body.subarray(0, this.#kept), this.#read > this.#kept);
    return { status: this.status, headers: this.headers, body };
  }
}

function textOf(bytes: Buffer, cut: boolean): string {
  // `stream` omits the bytes of an incomplete character instead of replacing them by U+FFFD.
  return cut
    ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
    : bytes.toString();
}

/** An attempt's error as stored. */
export interface AttemptFault {
  code: AttemptErrorCode;
  message: string;
}

/** One fixed message per code, including those of the connection. */
export const MESSAGES: Record<AttemptErrorCode, string> = {
  ...CONNECT_MESSAGES,
  http_status: 'The receiver responded with a status other than 2xx.',
  redirect: 'The receiver responded with a redirect; redirects are not followed.',
  internal: 'The delivery could not be prepared because of an error on our side. It has been logged.',
};

/** The error of a request that ended without a complete response head. */
function faultOf(error: unknown): AttemptFault {
  if (error instanceof ConnectError) return { code: error.code, message: error.message };
  const code = requestCode(error);
  return { code, message: MESSAGES[code] };
}

/** The error of a response without a 2xx status. */
function statusFault(status: number): AttemptFault {
  const code = status >= 300 && status < 400 ? 'redirect' : 'http_status';
  return { code, message: MESSAGES[code] };
}

/** Whether the other side closed or reset the connection, however that is reported. */
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
