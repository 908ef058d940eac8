import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * Ends connections that wait for nothing when the server closes: where no request came yet, or only its beginning, as of a
 * browser that connects ahead of need, and where the answer has been sent. Node ends only those that were idle at
 * that moment, stops its timeouts, and then waits for the others for as long as they like.
 */
export function endQuietConnections(app: FastifyInstance): void {
  /** Requests under way of each open connection. */
  const requests = new Map<Socket, number>();
  let closing = false;

  function count(socket: Socket, change: number): void {
    const left = (requests.get(socket) ?? 0) + change;
    if (socket.destroyed) return;
    requests.set(socket, left);
    if (closing && left === 0) socket.destroySoon(); // when what was written has gone out
  }

  app.server.on('connection', (socket) => {
    socket.once('close', () => requests.delete(socket));
    count(socket, 0);
  });
  app.server.on('request', ({ socket }, response) => {
    count(socket, 1);
    response.once('close', () => count(socket, -1));
  });
  app.addHook('preClose', async () => {
    closing = true;
    for (const socket of requests.keys()) count(socket, 0);
  });
}
