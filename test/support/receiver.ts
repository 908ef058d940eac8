import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

/** A request as received. */
export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** Number of its connection, from 1. */
  connection: number;
}

/** How the receiver responds to one request. */
export type Answer = (response: ServerResponse, request: Received, socket: Socket) => void;

/** A real HTTP server on loopback that records its requests. */
export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly requests: Received[];
  readonly connections: number;
  /** The maximum number of concurrent requests. */
  readonly mostAtOnce: number;
  /** The response from now on. */
  answer: Answer;
  /** Resolves when `count` requests have been received in total. */
  received(count: number): Promise<void>;
  /** Closes all connections, idle or not; the server continues to listen. */
  cut(): void;
  close(): Promise<void>;
}

/** Responds immediately with a status and headers. */
export const status =
  (code: number, headers: Record<string, string> = {}, body = ''): Answer =>
  (response) => {
    response.writeHead(code, headers).end(body);
  };

/** Does not respond, and keeps the connection open. */
export const hang: Answer = () => {};

/** Sends these bytes instead of an HTTP response. */
export const raw =
  (bytes: string, end = false): Answer =>
  (_, __, socket) => {
    socket.write(bytes);
    if (end) socket.end();
  };

/** Closes the connection without a response. */
export const close: Answer = (_, __, socket) => {
  socket.destroy();
};

/** Starts a receiver on a free port of 127.0.0.1, or at `at`; `tls` makes it https. */
export async function startReceiver(
  answer: Answer = status(200),
  tls?: { key: string; cert: string; maxVersion?: 'TLSv1.2' },
  at: { host: string; port: number } = { host: '127.0.0.1', port: 0 },
): Promise<Receiver> {
  const requests: Received[] = [];
  const sockets = new Map<Socket, number>();
  const waiting: { count: number; resolve: () => void }[] = [];
  let connections = 0;
  let open = 0;
  let mostAtOnce = 0;
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    open++;
    mostAtOnce = Math.max(mostAtOnce, open);
    response.once('close', () => open--);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { socket, method = '', url = '', headers } = request;
    const received = {
      method,
      path: url,
      headers,
      body: Buffer.concat(chunks).toString(),
      connection: sockets.get(socket) ?? 0,
    };
    requests.push(received);
    receiver.answer(response, received, socket);
    for (const waiter of waiting) if (requests.length >= waiter.count) waiter.resolve();
  };
  const listener = (request: IncomingMessage, response: ServerResponse) =>
    void handle(request, response).catch(() => {}); // the connection was closed while the body was being received
  const server = tls === undefined ? createServer(listener) : createTlsServer({ ...tls }, listener);
  server.keepAliveTimeout = 60_000;
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    sockets.set(socket, ++connections);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(at.port, at.host, resolve));
  const { port } = server.address() as AddressInfo;

  const receiver: Receiver = {
    url: `${tls === undefined ? 'http' : 'https'}://${at.host}:${port}/hook`,
    port,
    requests,
    get connections() {
      return connections;
    },
    get mostAtOnce() {
      return mostAtOnce;
    },
    answer,
    received: (count) =>
      new Promise((resolve) => {
        if (requests.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    cut() {
      for (const socket of sockets.keys()) socket.destroy();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}
