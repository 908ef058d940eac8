import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../lib/clock.ts';
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

/** How long a closing server waits for clients to read their responses. */
const CLOSING_MS = 25_000;

/** How many further connections may be in the process of being closed; the system closes those beyond. */
const MOST_CLOSING = 64;

/**
 * Limits the number of open connections and ends idle ones: those without a complete request, such as a browser's
 * preconnects, and those whose response has been sent.
 *
 * - At the limit, a new connection takes the place of the one that has been idle for the longest, of the client that has the most
 *   connections. If none of those with at least as many connections as its own client has an idle one, it is closed without a response. A client
 *   that only keeps connections open thus locks nobody out.
 * - When the server closes, all idle ones end, and after {@link CLOSING_MS} all others, such as those of paused downloads.
 *   Node ends only those that are idle at that moment, stops its timeouts, and then waits for the others indefinitely.
 */
export function superviseConnections(
  app: FastifyInstance,
  { most }: { most: number },
  clock: Pick<Clock, 'after'>,
): void {
  const connections = new Map<Socket, OpenConnection>();
  const clients = new Map<string, ClientConnections>();
  let closing = false;

  function add(socket: Socket, name: string): void {
    const client = clients.get(name) ?? { open: 0, idle: new Set() };
    clients.set(name, client);
    client.open++;
    client.idle.add(socket);
    connections.set(socket, { client, requests: 0 });
    socket.once('close', () => {
      connections.delete(socket);
      client.idle.delete(socket);
      client.open--;
      if (client.open === 0) clients.delete(name);
    });
  }

  /** Ends an idle connection for a client that has `own` connections. Returns false if there is none to end. */
  function makeRoom(own: number): boolean {
    let most = Math.max(1, own);
    let idle: Set<Socket> = new Set();
    for (const client of clients.values()) {
      if (client.open < most || client.idle.size === 0) continue;
      most = client.open;
      ({ idle } = client);
    }
    const [longest] = idle;
    if (longest === undefined) return false;
    idle.delete(longest);
    longest.destroy();
    return true;
  }

  function count(socket: Socket, change: 1 | -1): void {
    const connection = connections.get(socket);
    if (connection === undefined) return;
    connection.requests += change;
    const { client, requests } = connection;
    if (requests > 0) client.idle.delete(socket);
    else if (closing)
      socket.destroySoon(); // after pending writes are flushed
    else client.idle.add(socket);
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
    for (const { idle } of clients.values()) {
      for (const socket of idle) socket.destroySoon();
    }
    const late = clock.after(CLOSING_MS, () => {
      for (const socket of connections.keys()) socket.destroy();
    });
    app.server.once('close', late.cancel);
  });
}
