import type { Socket } from 'node:net';
import { Client, type Dispatcher as Undici } from 'undici';
import type { Clock } from '../lib/clock.ts';
import { createYielder } from '../lib/yielding.ts';
import { type Connect, ConnectError, type Dial } from '../webhooks/connect.ts';
import { readingOf } from '../webhooks/replies-in-turns.ts';

/** Idle time after which a connection is closed; receivers and undici close most of them sooner. */
const IDLE_MS = 90_000;
/**
 * Maximum number of idle connections. The system reports in one turn of the event loop what happened on all of them, and each takes a
 * file descriptor, which a client then lacks: with 4,000 that receivers reset together, the process paused for 0.3 s.
 */
const MOST_IDLE = 2_048;

/** Keep-alive connections by origin, shared by all endpoints of the origin. */
export interface Pools {
  dispatch(origin: string, request: Undici.DispatchOptions, handler: RequestHandler): void;
  /** Sends on a new connection, which is closed after the response. */
  dispatchFresh(origin: string, request: Undici.DispatchOptions, handler: RequestHandler): void;
  /** Closes connections that have been idle for a while. */
  sweep(): void;
  /** Cancels all requests and closes all connections. */
  destroy(): Promise<void>;
}

/**
 * The number of connections is not limited here: the scheduler limits the requests in flight of each
 * endpoint, and a limit per origin would let stalled requests of one tenant block another tenant on the same
 * host.
 *
 * The most recently used connection is reused first, so that no more are kept open than necessary.
 */
export function createPools(clock: Clock, connect: Connect, mostIdle = MOST_IDLE): Pools {
  const all = new Set<Connection>();
  /** Free connections by origin, the most recently used last. */
  const free = new Map<string, Connection[]>();
  /** The same connections, longest idle first. */
  const idle = new Set<Connection>();

  const owner: ConnectionOwner = {
    onFree(connection) {
      connection.freeSince = clock.monotonic();
      const others = free.get(connection.origin);
      if (others === undefined) free.set(connection.origin, [connection]);
      else others.push(connection);
      idle.add(connection);
      closeIdle(() => idle.size > mostIdle);
    },
    onGone(connection) {
      all.delete(connection);
      forget(connection);
    },
  };
  const single: ConnectionOwner = {
    onFree: () => {},
    onGone: (connection) => void all.delete(connection),
  };

  function dial(origin: string, of: ConnectionOwner): Connection {
    const connection = new Connection(origin, connect, of);
    all.add(connection);
    return connection;
  }

  /** Skips destroyed connections, which report later that they are gone. */
  function takeFree(origin: string): Connection | undefined {
    const connections = free.get(origin);
    for (let connection = connections?.pop(); connection !== undefined; connection = connections?.pop()) {
      idle.delete(connection);
      if (connection.isOpen) return connection;
    }
    return undefined;
  }

  /** The connection is not free, or no longer. */
  function forget(connection: Connection): void {
    if (!idle.delete(connection)) return;
    const others = free.get(connection.origin);
    const at = others?.indexOf(connection) ?? -1;
    if (at !== -1) others?.splice(at, 1);
  }

  /** Closes the connections that have been idle longest. */
  function closeIdle(isToClose: (connection: Connection) => boolean): void {
    for (const connection of idle) {
      if (!isToClose(connection)) return;
      forget(connection);
      connection.close();
    }
  }

  return {
    dispatch(origin, request, handler) {
      const connection = takeFree(origin) ?? dial(origin, owner);
      connection.dispatch(request, handler);
    },
    dispatchFresh(origin, request, handler) {
      const connection = dial(origin, single);
      connection.dispatch({ ...request, reset: true }, handler);
      connection.close();
    },
    sweep() {
      const before = clock.monotonic() - IDLE_MS;
      closeIdle(({ freeSince }) => freeSince <= before);
      for (const [origin, connections] of free) if (connections.length === 0) free.delete(origin);
    },
    async destroy() {
      free.clear();
      idle.clear();
      const nextTurn = createYielder(clock);
      const closed: Promise<void>[] = [];
      // Thousands of connections at once took 0.3 s, for which clients wait whose last request is being answered.
      for (const connection of all) {
        closed.push(connection.destroy());
        await nextTurn();
      }
      await Promise.all(closed);
    },
  };
}

/** Idle time after which an unused connection is closed, unless the receiver specifies a shorter one. */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE_MAX_MS = 60_000;
const MAX_REPLY_HEAD_BYTES = 16_384;
/**
 * Maximum size of a response on the wire, including all of its parts. Only bytes of the body reach the
 * handler: undici's parser has no limit for status lines, interim responses and chunk extensions, and read
 * them at 150 MB/s until the timeout. This is enough for 40 KB of body in chunks of one byte, more than is
 * stored.
 */
const MAX_REPLY_BYTES = 262_144;

const OPTIONS = {
  pipelining: 1,
  keepAliveTimeout: KEEP_ALIVE_MS,
  keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
  maxHeaderSize: MAX_REPLY_HEAD_BYTES,
  // One deadline of our own covers the whole request; undici's timers are too coarse, and only measure gaps.
  headersTimeout: 0,
  bodyTimeout: 0,
  allowH2: false,
} as const;

/** The handler of a request: undici's, with events about the connection. */
export interface RequestHandler
  extends Required<
    Pick<
      Undici.DispatchHandler,
      | 'onRequestStart'
      | 'onResponseStarted'
      | 'onResponseStart'
      | 'onResponseData'
      | 'onResponseEnd'
      | 'onResponseError'
    >
  > {
  /** Whose request it is: TLS handshakes of different tenants take turns. */
  readonly tenantId: string;
  /** A connection is being established for this request; not called if an existing connection is reused. */
  onDial(dial: Dial): void;
  /** The connection is established. */
  onConnected(): void;
}

/** The owner of a connection. */
interface ConnectionOwner {
  /** Its request is over, and it can take another. */
  onFree(connection: Connection): void;
  /** It was closed or could not be established, and cannot be used any more. */
  onGone(connection: Connection): void;
}

/**
 * One connection, which is established with its first request and carries one request at a time: an undici
 * client, and the handler between it and each request. It knows when it is free, so its owner need not search
 * hundreds of clients, as undici's pool does for every request.
 */
class Connection implements Undici.DispatchHandler {
  readonly origin: string;
  /** When it became free, in monotonic milliseconds; set by the owner. */
  freeSince = 0;
  readonly #client: Client;
  readonly #owner: ConnectionOwner;
  #handler: RequestHandler | null = null;
  #dial: Dial | null = null;
  #socket: Socket | null = null;
  #reading: ReturnType<typeof readingOf>;
  readonly #lines = new ResponseLines();
  #readBefore = 0;
  #gone = false;

  constructor(origin: string, connect: Connect, owner: ConnectionOwner) {
    this.origin = origin;
    this.#owner = owner;
    this.#client = new Client(origin, {
      ...OPTIONS,
      connect: (target, callback) => {
        const onConnected: Parameters<Connect>[1] = (error, socket) => {
          if (error !== null) {
            callback(error, null);
            return;
          }
          this.#handler?.onConnected();
          lookFirst(socket, this.#lines);
          callback(null, socket);
          this.#watch(socket);
        };
        this.#dial = connect(target, onConnected, this.#handler?.tenantId);
        this.#handler?.onDial(this.#dial);
      },
    });
    this.#client.on('disconnect', () => this.#onDisconnect());
  }

  /**
   * Whether the connection is open. undici destroys a socket only after it has told the handler that the
   * response is complete.
   */
  get isOpen(): boolean {
    return this.#socket !== null && !this.#socket.destroyed;
  }

  /**
   * Whether bytes after the response have arrived: the parser has not read them yet, and would take them for
   * the response to the next request.
   */
  get #hasMore(): boolean {
    return this.#reading !== undefined && this.#reading.heldBytes > 0;
  }

  dispatch(request: Undici.DispatchOptions, handler: RequestHandler): void {
    this.#handler = handler;
    this.#readBefore = this.#socket?.bytesRead ?? 0;
    this.#lines.begin();
    this.#client.dispatch(request, this);
  }

  /** Closes the connection once its request is over. */
  close(): void {
    this.#client.close().catch(() => {}); // fails only if it was destroyed meanwhile
  }

  /** Cancels its request and closes the connection. */
  destroy(): Promise<void> {
    this.#dial?.cancel(new ConnectError('timeout'));
    return this.#client.destroy();
  }

  #watch(socket: Socket): void {
    this.#socket = socket;
    this.#reading = readingOf(socket);
    this.#readBefore = socket.bytesRead;
    socket.on('readable', () => {
      if (socket.bytesRead - this.#readBefore > MAX_REPLY_BYTES)
        socket.destroy(new ConnectError('invalid_response'));
    });
  }

  #onDisconnect(): void {
    this.#socket = null;
    if (this.#handler === null) this.#leave();
  }

  #leave(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.close();
    this.#owner.onGone(this);
  }

  onRequestStart(controller: Undici.DispatchController, context: unknown): void {
    this.#handler?.onRequestStart(controller, context);
  }

  onResponseStarted(): void {
    this.#handler?.onResponseStarted();
  }

  onResponseStart(...[controller, status, headers, text]: Parameters<RequestHandler['onResponseStart']>) {
    this.#handler?.onResponseStart(controller, status, headers, text);
  }

  onResponseData(controller: Undici.DispatchController, chunk: Buffer): void {
    this.#lines.hadBody();
    this.#handler?.onResponseData(controller, chunk);
  }

  onResponseEnd(...[controller, trailers]: Parameters<RequestHandler['onResponseEnd']>): void {
    const handler = this.#handler;
    this.#handler = null;
    if (this.isOpen && !this.#hasMore) this.#owner.onFree(this);
    else this.#leave();
    handler?.onResponseEnd(controller, trailers);
  }

  /** After any error, the state of the connection is unknown. */
  onResponseError(controller: Undici.DispatchController, error: Error): void {
    const handler = this.#handler;
    this.#handler = null;
    this.#leave();
    handler?.onResponseError(controller, error);
  }
}

/** Inspects each slice of incoming bytes before the parser reads it. */
function lookFirst(socket: Socket, lines: ResponseLines): void {
  const read = socket.read.bind(socket);
  socket.read = (size) => {
    const bytes: Buffer | null = read(size);
    if (bytes === null || lines.look(bytes)) return bytes;
    socket.destroy(new ConnectError('invalid_response'));
    return null;
  };
}

const STATUS_AT = 'HTTP/1.1 '.length;
const [ZERO, ONE, TWO] = [0x30, 0x31, 0x32];
const [LF, CR] = [0x0a, 0x0d];
/**
 * Maximum number of header lines, and of trailer lines. undici's parser keeps objects for each line until the last: for
 * the 16 KB that it accepts, half a megabyte per connection, until the timeout.
 */
const MAX_LINES = 256;

/**
 * Follows a response. Changes each status 100 before its final head to 102, in place: a client must ignore any
 * 1xx, requested or not (RFC 9110, section 15.2); undici does, except for 100, on which it closes the
 * connection. Also counts lines outside of bodies.
 */
export class ResponseLines {
  /** Number of bytes in the current line of the head. */
  #slot = 0;
  #inStatusLine = true;
  #isFinal = false;
  #hasZero = false;
  /** Lines since the start of the response, or since its last piece of body. */
  #lines = 0;

  /** A request is sent: its response follows. */
  begin(): void {
    this.#slot = 0;
    this.#inStatusLine = true;
    this.#isFinal = false;
    this.#lines = 0;
  }

  /** The bytes inspected last contained body: their lines do not count. */
  hadBody(): void {
    this.#lines = 0;
  }

  /** Inspects the next bytes received; false if there were too many lines before them. */
  look(bytes: Uint8Array): boolean {
    if (this.#lines > MAX_LINES) return false;
    this.#followHeads(bytes);
    for (let i = 0; i < bytes.length; i++) if (bytes[i] === LF) this.#lines++;
    return true;
  }

  #followHeads(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length && !this.#isFinal; i++) {
      const byte = bytes[i];
      if (byte === CR) continue;
      if (byte === LF) this.#endLine();
      else if (this.#inStatusLine && byte !== undefined) bytes[i] = this.#lookAtStatus(byte);
      else this.#slot++;
    }
  }

  /** An empty line ends an interim head, and is ignored before one. */
  #endLine(): void {
    this.#inStatusLine = this.#slot === 0;
    this.#slot = 0;
  }

  #lookAtStatus(byte: number): number {
    const digit = this.#slot++ - STATUS_AT;
    if (digit === 0) this.#isFinal = byte !== ONE;
    if (digit === 1) this.#hasZero = byte === ZERO;
    return digit === 2 && this.#hasZero && byte === ZERO ? TWO : byte;
  }
}
