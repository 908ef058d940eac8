import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { eachInTurns } from '../lib/yielding.ts';
import { clientAt } from './limits.ts';
import { hasBody } from './request-body.ts';

/** The connections of one client. */
interface ClientConnections {
  open: number;
  /** Those that wait for their client, idle for the longest first. */
  idle: Set<Socket>;
}

interface OpenConnection {
  client: ClientConnections;
  /** Requests without a complete response, in order; each waits for the one before. */
  requests: IncomingMessage[];
  /** Whether the response to the first of them only has to be read. */
  isAnswered: boolean;
  /** What had been sent and received when it was last looked at. */
  moved: number;
}

/** A response that its client has not read completely. */
interface UnreadResponse {
  bytes: number;
  /** What had been written to the connection when it was last looked at. */
  written: number;
}

/** A client with fewer connections keeps them while others have more; a browser opens six. */
const MANY = 32;

/** How long a closing server waits for clients to read their responses. */
const CLOSING_MS = 25_000;

/** How many further connections may be in the process of being closed; the system closes those beyond. */
const MOST_CLOSING = 64;

/** How many connections on which bytes have moved in the meantime are passed over to find one to end. */
const MOST_PASSED = 8;

/**
 * Limits the number of open connections and ends idle ones, which wait for their client: those without a complete request, such as a browser's
 * preconnects, and those whose response has been sent, or only has to be read.
 *
 * - At the limit, a new connection takes the place of one that has been idle for the longest: of the client with the most connections, or of all
 *   if none has {@link MANY}. If there is none, or its own client has the most, without an idle one, it is closed without a response. A client
 *   that only keeps connections open thus locks nobody out, and slow uploads and downloads go on as long as bytes move.
 * - If responses that are not read take too much memory, the connection ends whose client has not read for the longest.
 * - When the server closes, all idle ones end in turns, and after {@link CLOSING_MS} all others, such as those of paused downloads.
 *   Node ends only those that are idle at that moment, without a response that is still being read, stops its timeouts, and then waits for the
 *   others indefinitely.
 */
export function superviseConnections(
  app: FastifyInstance,
  { most, unreadBytes: mostUnread }: { most: number; unreadBytes: number },
  clock: Pick<Clock, 'after'>,
): void {
  const connections = new Map<Socket, OpenConnection>();
  const clients = new Map<string, ClientConnections>();
  const allIdle = new Set<Socket>();
  /** Those whose clients have not read for the longest come first. */
  const unread = new Map<Socket, UnreadResponse>();
  let unreadBytes = 0;
  let closing = false;

  function setIdle(socket: Socket, { idle }: ClientConnections, isIdle: boolean): void {
    for (const sockets of [idle, allIdle]) {
      if (isIdle) sockets.add(socket);
      else sockets.delete(socket);
    }
  }

  function add(socket: Socket, name: string): void {
    const client = clients.get(name) ?? { open: 0, idle: new Set() };
    clients.set(name, client);
    client.open++;
    setIdle(socket, client, true);
    connections.set(socket, { client, requests: [], isAnswered: false, moved: 0 });
    socket.once('close', () => {
      connections.delete(socket);
      wasRead(socket);
      setIdle(socket, client, false);
      client.open--;
      if (client.open === 0) clients.delete(name);
    });
  }

  /** Ends an idle connection for a client that has `own` connections. Returns false if there is none to end. */
  function makeRoom(own: number): boolean {
    let most = Math.max(MANY, own);
    let candidates = own < MANY ? allIdle : new Set<Socket>();
    for (const { open, idle } of clients.values()) {
      if (open < most || idle.size === 0) continue;
      most = open;
      candidates = idle;
    }
    let passed = 0;
    for (const socket of candidates) {
      const connection = connections.get(socket);
      const moved = socket.bytesRead + socket.bytesWritten;
      if (connection !== undefined && moved > connection.moved && passed++ < MOST_PASSED) {
        connection.moved = moved;
        setIdle(socket, connection.client, false);
        setIdle(socket, connection.client, true);
        continue;
      }
      if (connection !== undefined) setIdle(socket, connection.client, false);
      socket.destroy();
      return true;
    }
    return false;
  }

  function wasRead(socket: Socket): void {
    unreadBytes -= unread.get(socket)?.bytes ?? 0;
    unread.delete(socket);
  }

  function mustBeRead(socket: Socket): void {
    const bytes = socket.writableLength;
    if (bytes === 0) return;
    unread.set(socket, { bytes, written: socket.bytesWritten });
    unreadBytes += bytes;
    while (unreadBytes > mostUnread) endUnread();
  }

  function endUnread(): void {
    let passed = 0;
    for (const [socket, response] of unread) {
      const written = socket.bytesWritten;
      if (written > response.written && passed++ < MOST_PASSED) {
        unread.delete(socket);
        unread.set(socket, { ...response, written });
        continue;
      }
      wasRead(socket);
      socket.destroy();
      return;
    }
  }

  function look(socket: Socket): void {
    const connection = connections.get(socket);
    if (connection === undefined) return;
    const { client, requests, isAnswered } = connection;
    connection.moved = socket.bytesRead + socket.bytesWritten;
    const [first] = requests;
    if (first === undefined && closing)
      socket.destroySoon(); // after pending writes are flushed
    else setIdle(socket, client, first === undefined || isAnswered || (hasBody(first) && !first.complete));
  }

  function begin(socket: Socket, request: IncomingMessage, response: ServerResponse): void {
    const connection = connections.get(socket);
    if (connection === undefined) return;
    connection.requests.push(request);
    look(socket);
    if (hasBody(request)) request.once('end', () => look(socket));
    response.once('prefinish', () => {
      if (socket.destroyed) return;
      connection.isAnswered = true;
      mustBeRead(socket);
      look(socket);
    });
    response.once('close', () => {
      connection.isAnswered = false;
      connection.requests.shift();
      wasRead(socket);
      look(socket);
    });
  }

  app.server.maxConnections = most + MOST_CLOSING;
  app.server.on('connection', (socket) => {
    const name = clientAt(socket.remoteAddress);
    const hasRoom = connections.size < most || makeRoom(clients.get(name)?.open ?? 0);
    if (closing || !hasRoom) socket.destroy();
    else add(socket, name);
  });
  app.server.on('request', (request, response) => begin(request.socket, request, response));
  app.addHook('preClose', async () => {
    closing = true;
    const unused = [...connections].filter(([, { requests }]) => requests.length === 0);
    await eachInTurns(unused, async ([socket]) => socket.destroySoon());
    const late = clock.after(CLOSING_MS, () => {
      void eachInTurns([...connections.keys()], async (socket) => socket.destroy());
    });
    app.server.once('close', late.cancel);
  });
  // Node would also end those whose response only has to be read, all in one turn: 4,080 with pipelined requests took 0.26 s.
  app.server.closeIdleConnections = () => {};
}
