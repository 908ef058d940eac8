import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { writeInTurns } from '../../src/lib/writing-turns.ts';

/** More than the system takes of a connection that is not read. */
const LENGTH = 8_000_000;
const BYTES = Buffer.alloc(LENGTH, 'x');
/** Read again together. */
const CONNECTIONS = 30;
const TEXT = 'é—x'.repeat(LENGTH / 3);

async function serve(
  answer: (response: ServerResponse) => void,
  clock = { monotonic: systemClock.monotonic },
) {
  const sockets: Socket[] = [];
  const server = createServer((_request, response) => answer(response));
  writeInTurns(server, clock);
  server.on('connection', (socket) => sockets.push(socket));
  server.listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ask = () => {
    const client = connect(port, '127.0.0.1');
    onTestFinished(() => void client.destroy());
    client.pause();
    client.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
    return client;
  };
  return { ask, sockets };
}

async function readAll(client: Socket): Promise<string> {
  const parts: Buffer[] = [];
  client.on('data', (bytes) => parts.push(bytes));
  client.resume();
  await once(client, 'end');
  return Buffer.concat(parts).toString();
}

const heldBytes = (socket: Socket): number =>
  Reflect.get(Reflect.get(socket, '_handle') as object, 'writeQueueSize') as number;

test.each<[string, (response: ServerResponse) => void]>([
  ['a text', (response) => response.end(TEXT)],
  ['bytes', (response) => response.end(Buffer.from(TEXT))],
  [
    'several chunks',
    (response) => {
      response.write(TEXT.slice(0, 5), 'utf8');
      response.write(Buffer.from(TEXT.slice(5, 1_000_000)));
      response.end(TEXT.slice(1_000_000));
    },
  ],
])(
  'of a response that is not read (%s), one piece is handed on, and the client gets all once it reads',
  async (_kind, answer) => {
    const { ask, sockets } = await serve((response) => {
      response.setHeader('content-length', Buffer.byteLength(TEXT));
      answer(response);
    });
    const client = ask();
    await expect.poll(() => sockets[0]?.writableLength ?? 0).toBeGreaterThan(0);
    const [socket] = sockets as [Socket];
    await expect.poll(() => heldBytes(socket)).toBeGreaterThan(0); // the system takes no more
    expect(heldBytes(socket)).toBeLessThanOrEqual(8_192);
    const received = await readAll(client);
    const body = received.slice(received.indexOf('\r\n\r\n') + 4);
    expect(body.length).toBe(TEXT.length);
    expect(body === TEXT).toBe(true);
  },
);

test('of connections that are read again together, few are written per turn of the event loop', async () => {
  let now = 0;
  const { ask, sockets } = await serve((response) => response.end(BYTES), { monotonic: () => (now += 1) });
  const clients = Array.from({ length: CONNECTIONS }, ask);
  await expect.poll(() => sockets.filter((socket) => socket.writableLength > 0).length).toBe(CONNECTIONS);
  const writes = new Map<number, Set<Socket>>();
  for (const socket of sockets) {
    const handle = Reflect.get(socket, '_handle') as { writeBuffer(...args: unknown[]): number };
    const write = handle.writeBuffer.bind(handle);
    handle.writeBuffer = (...args) => {
      const turn = performance.nodeTiming.uvMetricsInfo.loopCount;
      writes.set(turn, (writes.get(turn) ?? new Set()).add(socket));
      return write(...args);
    };
  }
  const answers = await Promise.all(clients.map(readAll));
  expect(answers.every((answer) => answer.length > LENGTH)).toBe(true);
  expect(Math.max(...Array.from(writes.values(), ({ size }) => size))).toBeLessThanOrEqual(10);
}, 20_000);

test('a connection that is closed while most of its response waits ends its request', async () => {
  const closed = Promise.withResolvers<void>();
  const { ask, sockets } = await serve((response) => {
    response.once('close', closed.resolve);
    response.end(TEXT);
  });
  const client = ask();
  await expect.poll(() => sockets[0]?.writableLength ?? 0).toBeGreaterThan(0);
  client.resetAndDestroy();
  await closed.promise;
  await expect.poll(() => sockets[0]?.destroyed).toBe(true);
});
