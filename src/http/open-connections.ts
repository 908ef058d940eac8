import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { eachInTurns } from '../lib/yielding.ts';
import { clientAt } from './limits.ts';

/** The connections of one client. */
interface ClientConnections {
  open: number;
  /** Those without a complete request and a response that is still being sent, idle for the longest first. */
  idle: Set<Socket>;
}

interface OpenConnection {
  client: ClientConnections;
  /** Requests in progress. */
  requests: number;
}

/** A client with fewer connections keeps them while others have more; a browser opens six. */
const MANY = 32;

/** How long a closing server waits for clients to read their responses. */
const CLOSING_MS = 25_000;

/** How many further connections may be in the process of being closed; the system closes those beyond. */
const MOST_CLOSING = 64;

/**
 * Limits the number of open connections and ends idle ones: those without a complete request, such as a browser's
 * preconnects, and those whose response has been sent.
 *
 * - At the limit, a new connection takes the place of one that has been idle for the longest: of the client with the most connections, or of all
 *   if none has {@link MANY}. If there is none, or its own client has the most, without an idle one, it is closed without a response. A client
 *   that only keeps connections open thus locks nobody out.
 * - When the server closes, all idle ones end in turns, and after {@link CLOSING_MS} all others, such as those of paused downloads.
 *   Node ends only those that are idle at that moment, stops its timeouts, and then waits for the others indefinitely.
 */
export function superviseConnections(
  app: FastifyInstance,
  { most }: { most: number },
  clock: Pick<Clock, 'after'>,
): void {
  const connections = new Map<Socket, OpenConnection>();
  const clients = new Map<string, ClientConnections>();
  const allIdle = new Set<Socket>();
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
    connections.set(socket, { client, requests: 0 });
    socket.once('close', () => {
      connections.delete(socket);
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
    const [longest] = candidates;
    const connection = longest && connections.get(longest);
    if (longest === undefined || connection === undefined) return false;
    setIdle(longest, connection.client, false);
    longest.destroy();
    return true;
  }

  function count(socket: Socket, change: 1 | -1): void {
    const connection = connections.get(socket);
    if (connection === undefined) return;
    connection.requests += change;
    const { client, requests } = connection;
    if (requests === 0 && closing)
      socket.destroySoon(); // after pending writes are flushed
    else setIdle(socket, client, requests === 0);
  }

  app.server.maxConnections = most + MOST_CLOSING;
  app.server.on('connection', (socket) => {
    const name = clientAt(socket.remoteAddress);
    const hasRoom = connections.size < most || makeRoom(clients.get(name)?.open ?? 0);
    if (closing || !hasRoom) socket.destroy();
    else add(socket, name);
  });
  app.server.on('request', ({ socket }, response) => {
    count(socket, 1);
    response.once('close', () => count(socket, -1));
  });
  app.addHook('preClose', async () => {
    closing = true;
    await eachInTurns(allIdle, async (socket) => socket.destroySoon());
    const late = clock.after(CLOSING_MS, () => {
      for (const socket of connections.keys()) socket.destroy();
    });
    app.server.once('close', late.cancel);
  });
}
