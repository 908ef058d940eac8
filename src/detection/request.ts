import { type Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { Agent, Client, errors, WebSocket } from 'undici';
import type { Clock, Timer } from '../lib/clock.ts';
import { type Connect, ConnectError, codeOf, type Dial, systemFault } from '../webhooks/connect.ts';
import { SourceFault, stoppedFault } from './source-item.ts';

/** From DNS lookup to the last byte. */
const TIME_LIMIT_MS = 30_000;
/** Maximum size of a response, decompressed. */
const MAX_BODY_BYTES = 5 * 1024 * 1024;
/** Maximum size of a compressed response as received; compression hardly ever makes a document larger. */
const MAX_RECEIVED_BYTES = 2 * MAX_BODY_BYTES;
const MAX_HEAD_BYTES = 32_768;
/**
 * Size of the pieces in which a response is decompressed and kept. A host may send chunks of one byte: each would take up to
 * 200 bytes in every stream that it waits in, and decompressing one alone takes as long as a whole piece.
 */
const PIECE_BYTES = 16_384;

/**
 * A complete response, decompressed. Header names are in lower case; of repeated headers, the last one
 * counts.
 */
export interface HostResponse {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Options of a request, besides its URL. */
export interface RequestOptions {
  headers: Record<string, string>;
  /** Sent by POST; omitted for GET. */
  body?: string | undefined;
  /** The tenant on whose behalf it is sent: TLS handshakes of tenants take turns. Empty: none. */
  owner: string;
  /** Aborted when the run's time is up. */
  signal: AbortSignal | null;
  /** Truncates a longer body here instead of failing. */
  cutAt?: number | undefined;
}

/** Sends each request on a new connection: sources are read minutes apart. */
export interface Requests {
  /** @throws SourceFault */
  send(url: URL, options: RequestOptions): Promise<HostResponse>;
  /** Cancels requests in progress, and rejects new ones. */
  abort(): void;
}

const MESSAGES: Record<ConnectError['code'] | 'too_large', string> = {
  timeout: `No complete response was received within ${TIME_LIMIT_MS / 1_000} seconds.`,
  connection_refused: 'The host refused the connection.',
  connection_reset: 'The host closed the connection before responding.',
  dns: 'The host name does not resolve.',
  tls: 'A TLS connection with a valid certificate could not be established.',
  blocked_target: 'The address is not on the public internet.',
  invalid_response: 'The response is not valid HTTP.',
  network: 'The host could not be reached.',
  too_large: `The response is larger than ${MAX_BODY_BYTES / 1_048_576} MB.`,
};

export function createRequests({ clock, connect }: { clock: Clock; connect: Connect }): Requests {
  const running = new Set<() => void>();
  let stopped = false;

  async function send(
    url: URL,
    { headers, body, owner, signal, cutAt }: RequestOptions,
  ): Promise<HostResponse> {
    if (stopped) throw stoppedFault();
    let dial: Dial | null = null;
    const client = new Client(url.origin, {
      connect: (options, callback) => {
        dial = connect(options, callback, owner || undefined);
      },
      maxHeaderSize: MAX_HEAD_BYTES,
      // One deadline of our own covers the whole request.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    let cut: ConnectError | null = null;
    function end(): void {
      cut = new ConnectError('timeout');
      dial?.cancel(cut);
      client.destroy(cut).catch(() => {});
    }
    const limit = clock.after(TIME_LIMIT_MS, end);
    running.add(end);
    signal?.addEventListener('abort', end, { once: true });
    if (signal?.aborted) end();
    try {
      const answer = await client.request({
        path: `${url.pathname}${url.search}`,
        method: body === undefined ? 'GET' : 'POST',
        headers,
        body: body ?? null,
        highWaterMark: PIECE_BYTES,
      });
      const flat = flatten(answer.headers);
      return { status: answer.statusCode, headers: flat, body: await readBody(answer, flat, cutAt) };
    } catch (error) {
      throw stopped ? stoppedFault() : toFault(cut ?? error);
    } finally {
      signal?.removeEventListener('abort', end);
      running.delete(end);
      limit.cancel();
      await client.destroy().catch(() => {});
    }
  }

  return {
    send,
    abort: () => {
      stopped = true;
      for (const end of running) end();
    },
  };
}

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value ?? ''].flat().at(-1) ?? '']),
  );
}

/**
 * Reads and decompresses the body, counting bytes as they arrive: a small compressed response can be endless.
 */
async function readBody(
  { statusCode, body }: { statusCode: number; body: Readable },
  headers: Record<string, string>,
  cutAt: number | undefined,
): Promise<Buffer> {
  // Neither has a useful body, and some name an encoding that they do not use.
  const bodiless = statusCode === 304 || statusCode === 204 || (statusCode >= 301 && statusCode <= 308);
  if (bodiless) {
    body.on('error', () => {}).destroy();
    return Buffer.alloc(0);
  }
  const decoder = decoderFor(headers['content-encoding'] ?? '');
  const pieces = inPieces();
  body.on('error', (error) => pieces.destroy(error));
  body.pipe(pieces);
  if (decoder !== null) {
    // Compressed data can end before the response does. Nothing reads the decoder then, and an error of the
    // connection, which closes next, would end the process.
    decoder.on('error', () => {});
    pieces.on('error', (error) => decoder.destroy(error)).pipe(decoder);
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of decoder ?? pieces) {
    bytes += (chunk as Buffer).length;
    chunks.push(chunk as Buffer);
    if (cutAt !== undefined && bytes >= cutAt) return Buffer.concat(chunks).subarray(0, cutAt);
    if (bytes > MAX_BODY_BYTES) throw new SourceFault('too_large', MESSAGES.too_large);
  }
  return Buffer.concat(chunks);
}

/** Limits what is received: compressed data without any content never reaches the limit of its content. */
function inPieces(): Transform {
  let bytes = 0;
  let piece = Buffer.allocUnsafe(PIECE_BYTES);
  let filled = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, next) {
      bytes += chunk.length;
      if (bytes > MAX_RECEIVED_BYTES) return next(new SourceFault('too_large', MESSAGES.too_large));
      for (let at = 0; at < chunk.length; ) {
        const copied = chunk.copy(piece, filled, at);
        at += copied;
        filled += copied;
        if (filled < PIECE_BYTES) break;
        this.push(piece);
        piece = Buffer.allocUnsafe(PIECE_BYTES);
        filled = 0;
      }
      next();
    },
    flush(next) {
      next(null, piece.subarray(0, filled));
    },
  });
}

function decoderFor(encoding: string) {
  switch (encoding.trim().toLowerCase()) {
    case '':
    case 'identity':
      return null;
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      throw new SourceFault('invalid_response', 'The response uses a compression that was not requested.');
  }
}

function toFault(error: unknown): SourceFault {
  if (error instanceof SourceFault) return error;
  const code = codeOfFault(error);
  return new SourceFault(code, MESSAGES[code]);
}

function codeOfFault(error: unknown): ConnectError['code'] {
  if (error instanceof ConnectError) return error.code;
  if (error instanceof errors.HTTPParserError) return 'invalid_response';
  const code = codeOf(error);
  if (code === 'UND_ERR_SOCKET') return 'connection_reset';
  if (code.startsWith('UND_ERR_') || code.startsWith('HPE_') || code.startsWith('Z_'))
    return 'invalid_response';
  if (code.startsWith('ERR_')) return 'invalid_response';
  return systemFault(code);
}

/** A stream that is silent for this long has nothing more for now. */
const IDLE_MS = 3_000;
const CONNECT_MS = 15_000;
/** Maximum size of one message; posts are much smaller. */
const MAX_MESSAGE = 1_048_576;

/** Options of a stream. */
export interface StreamOptions {
  url: URL;
  headers: Record<string, string>;
  /** Maximum time to listen. */
  limitMs: number;
  /** As for a request. */
  owner: string;
  signal: AbortSignal | null;
  /** Called for each message; `end` stops listening. */
  take(text: string, end: () => void): void;
}

/**
 * Listens to a WebSocket until `take` ends it, it is silent, or the time is up. @throws SourceFault if it
 * cannot be opened
 */
export async function listenTo(
  { clock, connect }: { clock: Clock; connect: Connect },
  { url, headers, limitMs, owner, signal, take }: StreamOptions,
): Promise<void> {
  const agent = new Agent({
    connect: (options, callback) => void connect(options, callback, owner || undefined),
    webSocket: { maxPayloadSize: MAX_MESSAGE },
  });
  const socket = new WebSocket(url, { dispatcher: agent, headers });
  const over = Promise.withResolvers<void>();
  let opened = false;
  let ended = false;
  const end = () => {
    ended = true; // messages received after the end are dropped
    over.resolve();
  };
  const broken = () => {
    if (opened) end();
    else over.reject(new SourceFault('network', 'The stream could not be opened.'));
  };
  let idle: Timer = clock.after(CONNECT_MS, broken);
  const wait = () => {
    idle.cancel();
    idle = clock.after(IDLE_MS, end);
  };
  const limit = clock.after(limitMs, end);
  socket.addEventListener('open', () => {
    opened = true;
    wait();
  });
  socket.addEventListener('message', ({ data }) => {
    if (ended) return;
    wait();
    if (typeof data === 'string' && data.length <= MAX_MESSAGE) take(data, end);
  });
  socket.addEventListener('error', broken);
  socket.addEventListener('close', broken);
  signal?.addEventListener('abort', end, { once: true });
  try {
    await over.promise;
  } finally {
    signal?.removeEventListener('abort', end);
    idle.cancel();
    limit.cancel();
    socket.close();
    await agent.destroy().catch(() => {});
  }
}
