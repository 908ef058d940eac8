import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** The host's response to one request: only a body, or a full response. */
export type HostAnswer =
  | string
  | Buffer
  /** All bytes of the response, including head and framing. */
  | { raw: Buffer }
  | { status?: number; headers?: Record<string, string | string[]>; body: string | Buffer };

/** A host that returns whatever a case needs: feeds, APIs, webhook receivers, a provider, a stream. */
export interface HostileHost {
  /** Its base URL, without a path. */
  origin: string;
  /** Sets the response from now on; null is 404. */
  answer: (path: string) => HostAnswer | null;
  /** Sets what a stream sends from now on, one message each. */
  messages: Iterable<string>;
  close(): Promise<void>;
}

export async function startHostileHost(): Promise<HostileHost> {
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    request.resume().once('end', () => reply(host, request, response));
    request.once('error', () => {});
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  });
  server.on('upgrade', (request: IncomingMessage, socket: Socket) => stream(request, socket, host.messages));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const host: HostileHost = {
    origin: `http://127.0.0.1:${port}`,
    answer: () => null,
    messages: [],
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
  return host;
}

function reply(host: HostileHost, request: IncomingMessage, response: ServerResponse): void {
  const given = host.answer(request.url ?? '');
  if (given === null) {
    response.writeHead(404).end();
    return;
  }
  if (typeof given === 'object' && 'raw' in given) {
    response.socket?.end(given.raw);
    return;
  }
  const whole = typeof given === 'string' || Buffer.isBuffer(given) ? { body: given } : given;
  response.writeHead(whole.status ?? 200, whole.headers ?? {});
  response.end(whole.body);
}

/** The server side of RFC 6455, as far as a client that never sends anything needs it. */
function stream(request: IncomingMessage, socket: Socket, messages: Iterable<string>): void {
  const accept = createHash('sha1')
    .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
  );
  for (const message of messages) {
    const body = Buffer.from(message);
    const head = Buffer.alloc(10);
    head.writeUInt8(0x81, 0);
    head.writeUInt8(127, 1);
    head.writeBigUInt64BE(BigInt(body.length), 2);
    socket.write(head);
    socket.write(body);
  }
  socket.end(Buffer.from([0x88, 0]));
}
