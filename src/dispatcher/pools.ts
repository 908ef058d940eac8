import type { Socket } from 'node:net';
import { Client, type Dispatcher as Undici } from 'undici';
import type { Clock } from '../lib/clock.ts';
import { type Connect, ConnectError, type Dial } from '../webhooks/connect.ts';
import { heldBytes } from '../webhooks/replies-in-turns.ts';

/** A connection unused for this long is let go; receivers and undici close most of them sooner. */
const IDLE_MS = 90_000;

/** Kept-alive connections of each origin, shared by all endpoints of that origin. */
export interface Pools {
  dispatch(origin: string, request: Undici.DispatchOptions, handler: RequestHandler): void;
  /** Sends on a connection of its own, closed after the reply. */
  dispatchFresh(origin: string, request: Undici.DispatchOptions, handler: RequestHandler): void;
  /** Lets go of connections that nothing used for a while. */
  sweep(): void;
  /** Cuts everything off. */
  destroy(): Promise<void>;
}

/**
 * Their number is not limited here: the scheduler holds each endpoint to its own number in flight, and a limit shared by
 * an origin's endpoints would let one tenant's stalled requests hold up another tenant's on the same host.
 *
 * The connection that became free last is used first, so that no more are kept open than are needed.
 */
export function createPools(clock: Clock, connect: Connect): Pools {
  const all = new Set<Connection>();
  /** The free ones of an origin, the latest at the end. */
  const free = new Map<string, Connection[]>();

  const owner: ConnectionOwner = {
    onFree(connection) {
      connection.freeSince = clock.monotonic();
      const others = free.get(connection.origin);
      if (others === undefined) free.set(connection.origin, [connection]);
      else others.push(connection);
    },
    onGone(connection) {
      all.delete(connection);
      const others = free.get(connection.origin);
      const at = others?.lastIndexOf(connection) ?? -1;
      if (at !== -1) others?.splice(at, 1);
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

  /** Those that were destroyed since will say themselves that they are gone. */
  function takeFree(origin: string): Connection | undefined {
    const connections = free.get(origin);
    let connection = connections?.pop();
    while (connection !== undefined && !connection.isOpen) connection = connections?.pop();
    return connection;
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
      for (const [origin, connections] of free) {
        const used = connections.findIndex(({ freeSince }) => freeSince > before);
        const idle = connections.splice(0, used === -1 ? connections.length : used);
        for (const connection of idle) connection.close();
        if (connections.length === 0) free.delete(origin);
      }
    },
    async destroy() {
      free.clear();
      await Promise.all([...all].map((connection) => connection.destroy()));
    },
  };
}

/** Idle time after which an unused connection is closed, unless the receiver names a shorter one. */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE_MAX_MS = 60_000;
const MAX_REPLY_HEAD_BYTES = 16_384;
/**
 * What a reply may be on the wire, whatever its parts. Only a body's bytes come to the handler: status lines, interim
 * replies and chunk extensions have no end for undici's parser, and were read at 150 MB/s until the time limit. As much as
 * 40 KB of body in chunks of one byte, which is more than is kept.
 */
const MAX_REPLY_BYTES = 262_144;

const OPTIONS = {
  pipelining: 1,
  keepAliveTimeout: KEEP_ALIVE_MS,
  keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
  maxHeaderSize: MAX_REPLY_HEAD_BYTES,
  // One deadline of our own covers the whole request; undici's timers are too coarse for it and measure gaps only.
  headersTimeout: 0,
  bodyTimeout: 0,
  allowH2: false,
} as const;

/** A request's handler: undici's, told when a connection is made for it. */
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
  /** A connection is being made for this request; without this call it goes out on one that was used before. */
  onDial(dial: Dial): void;
  /** The connection stands. */
  onConnected(): void;
}

/** Who a connection belongs to. */
interface ConnectionOwner {
  /** Its request is over and it can take another. */
  onFree(connection: Connection): void;
  /** It was closed, or could not be made; it is of no more use. */
  onGone(connection: Connection): void;
}

/**
 * One connection, dialled with its first request, and one request at a time: an undici client of its own, and the handler
 * between the client and each request. So it knows when it is free, and its owner need not ask hundreds of clients which
 * of them is, as undici's pool does for every request.
 */
class Connection implements Undici.DispatchHandler {
  readonly origin: string;
  /** When it became free, monotonic milliseconds; the owner's. */
  freeSince = 0;
  readonly #client: Client;
  readonly #owner: ConnectionOwner;
  #handler: RequestHandler | null = null;
  #dial: Dial | null = null;
  #socket: Socket | null = null;
  readonly #lines = new StatusLines();
  #readBefore = 0;
  #gone = false;

  constructor(origin: string, connect: Connect, owner: ConnectionOwner) {
    this.origin = origin;
    this.#owner = owner;
    this.#client = new Client(origin, {
      ...OPTIONS,
      connect: (target, callback) => {
        this.#dial = connect(target, (error, socket) => {
          if (error !== null) {
            callback(error, null);
            return;
          }
          this.#handler?.onConnected();
          lookFirst(socket, this.#lines);
          callback(null, socket);
          this.#watch(socket);
        });
        this.#handler?.onDial(this.#dial);
      },
    });
    this.#client.on('disconnect', () => this.#onDisconnect());
  }

  /** Whether it stands. undici destroys a socket only after it has told the handler that the reply was complete. */
  get isOpen(): boolean {
    return this.#socket !== null && !this.#socket.destroyed;
  }

  /** More came than the reply: its parser does not know of it yet, and would take it for the reply to what is sent next. */
  get #hasMore(): boolean {
    return this.#socket !== null && heldBytes(this.#socket) > 0;
  }

  dispatch(request: Undici.DispatchOptions, handler: RequestHandler): void {
    this.#handler = handler;
    this.#readBefore = this.#socket?.bytesRead ?? 0;
    this.#lines.begin();
    this.#client.dispatch(request, this);
  }

  /** Closes it once its request is over. */
  close(): void {
    this.#client.close().catch(() => {}); // fails only where it was destroyed meanwhile
  }

  /** Cuts it off. */
  destroy(): Promise<void> {
    this.#dial?.cancel(new ConnectError('timeout'));
    return this.#client.destroy();
  }

  #watch(socket: Socket): void {
    this.#socket = socket;
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
    this.#handler?.onResponseData(controller, chunk);
  }

  onResponseEnd(...[controller, trailers]: Parameters<RequestHandler['onResponseEnd']>): void {
    const handler = this.#handler;
    this.#handler = null;
    if (this.isOpen && !this.#hasMore) this.#owner.onFree(this);
    else this.#leave();
    handler?.onResponseEnd(controller, trailers);
  }

  /** Whatever it was, nothing is known of the connection's state any more. */
  onResponseError(controller: Undici.DispatchController, error: Error): void {
    const handler = this.#handler;
    this.#handler = null;
    this.#leave();
    handler?.onResponseError(controller, error);
  }
}

/** Has what comes in looked at before the parser reads it: a stream's bytes are pushed into it as they come. */
function lookFirst(socket: Socket, lines: StatusLines): void {
  const push = socket.push.bind(socket);
  socket.push = (bytes) => {
    if (bytes !== null) lines.look(bytes);
    return push(bytes);
  };
}

const STATUS_AT = 'HTTP/1.1 '.length;
const [ZERO, ONE, TWO] = [0x30, 0x31, 0x32];
const [LF, CR] = [0x0a, 0x0d];

/**
 * Follows the heads of a reply up to its final one, and makes 102 of each 100 before it, in place. A client must pass over
 * any 1xx, asked for or not (RFC 9110, section 15.2); undici does, but for 100, at which it ends the connection.
 */
export class StatusLines {
  /** Bytes of the present head's line so far. */
  #slot = 0;
  #inStatusLine = true;
  #isFinal = false;
  #hasZero = false;

  /** A request goes out: what comes next is its reply. */
  begin(): void {
    this.#slot = 0;
    this.#inStatusLine = true;
    this.#isFinal = false;
  }

  /** Takes the next bytes that came. */
  look(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length && !this.#isFinal; i++) {
      const byte = bytes[i];
      if (byte === CR) continue;
      if (byte === LF) this.#endLine();
      else if (this.#inStatusLine && byte !== undefined) bytes[i] = this.#lookAtStatus(byte);
      else this.#slot++;
    }
  }

  /** An empty line ends an interim head, and means nothing before one. */
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
