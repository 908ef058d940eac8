import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createFifo } from '../lib/fifo.ts';

/** Requests of one connection that wait for the one before them; whoever sends more does not mean to read the answers. */
const MOST_WAITING = 64;

/**
 * Begins with a request when the one before it on its connection is answered, as answers go out in that order whenever they
 * are made: what comes in one piece is handed on together. Of all connections that sent more than one request, one begins
 * with its next in each turn of the event loop.
 */
export function handleInOrder(server: Server): void {
  const handlers = server.listeners('request') as ((
    request: IncomingMessage,
    response: ServerResponse,
  ) => void)[];
  /** Of connections whose request is being answered, what comes next. */
  const lines = new WeakMap<Socket, (() => void)[]>();
  /** Requests whose turn has come on their connections: one of all of them begins in a turn of the event loop. */
  const due = createFifo<() => void>();
  let scheduled = false;

  function schedule(): void {
    if (scheduled || due.size === 0) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      const next = due.shift();
      schedule(); // first, as the handler runs within the call
      next?.();
    });
  }

  function begin(socket: Socket, line: (() => void)[], start: () => void, response: ServerResponse): void {
    response.once('close', () => {
      const next = line.shift();
      if (next === undefined || socket.destroyed) lines.delete(socket);
      else {
        due.push(next);
        schedule();
      }
    });
    start();
  }

  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const start = () => {
      for (const handle of handlers) handle(request, response);
    };
    const line = lines.get(socket);
    if (line === undefined) {
      const own: (() => void)[] = [];
      lines.set(socket, own);
      begin(socket, own, start, response);
    } else if (line.length >= MOST_WAITING) socket.destroy();
    else line.push(() => begin(socket, line, start, response));
  });
}
