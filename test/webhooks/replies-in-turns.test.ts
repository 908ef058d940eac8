import { once } from 'node:events';
import { connect, createServer, type Server, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Client } from 'undici';
import { afterEach, expect, test } from 'vitest';
import { createReleases } from '../../src/lib/yielding.ts';
import { createReplyTurns, openInPieces, readingOf } from '../../src/webhooks/replies-in-turns.ts';

/** A clock by which each slice takes a millisecond, so that a turn has room for two. */
function slowClock() {
  let now = 0;
  return { monotonic: () => now++ };
}

/** An unconnected socket, and the slices received by its reader. */
function aSocket() {
  const socket = new Socket();
  const pieces: string[] = [];
  let reads = 0;
  socket._read = () => {
    reads++;
  };
  return {
    socket,
    pieces,
    reads: () => reads,
    listen: () =>
      socket.on('readable', () => {
        for (let piece = socket.read(); piece !== null; piece = socket.read()) pieces.push(String(piece));
      }),
  };
}

/** Two slices by the slow clock, the first of the next turn, and the small pieces that always pass. */
const MOST_A_TURN = (3 + 16) * 1_024;

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

test('a small response passes immediately', async () => {
  const { socket, pieces, listen } = aSocket();
  createReplyTurns(slowClock(), createReleases())(socket, 'owner');
  listen();
  socket.push(Buffer.from('small'));
  expect(readingOf(socket)?.heldBytes).toBe(0);
  await new Promise(process.nextTick);
  expect(pieces).toEqual(['small']);
});

test('bytes that TLS has not read yet count as held, too', () => {
  const [encrypted, socket] = [new Socket(), new Socket()];
  createReplyTurns(slowClock(), createReleases())(encrypted, 'owner');
  createReplyTurns(slowClock(), createReleases())(socket, 'owner', encrypted);
  encrypted.push(Buffer.alloc(20_000));
  expect(readingOf(socket)?.heldBytes).toBe(20_000);
});

test('a connection ends when it is granted a turn, unless it was closed before', async () => {
  const granted: (() => void)[] = [];
  const inTurns = createReplyTurns(slowClock(), (end) => void granted.push(end));
  const ended: string[] = [];
  const sockets = ['one', 'other'].map((name) => {
    const { socket, listen } = aSocket();
    inTurns(socket, 'owner');
    listen();
    socket.on('end', () => ended.push(name));
    socket.push(null);
    return socket;
  });
  await nextTurn();
  expect(ended).toEqual([]);
  sockets[1]?.destroy();
  for (const end of granted) end();
  await nextTurn();
  expect(ended).toEqual(['one']);
});

test('a large response arrives in slices, complete and in order, while nothing more is read', async () => {
  const { socket, pieces, reads, listen } = aSocket();
  createReplyTurns(slowClock(), createReleases())(socket, 'owner');
  listen();
  const ended = once(socket, 'end');
  const whole = Array.from({ length: 20_000 }, (_, n) => String(n % 10)).join('');
  expect(socket.push(Buffer.from(whole))).toBe(false);
  socket.push(null);
  const before = reads();
  await nextTurn();
  await nextTurn();
  expect(readingOf(socket)?.heldBytes).toBeGreaterThan(10_000);
  expect(reads()).toBe(before);
  await ended;
  expect(pieces.length).toBeGreaterThan(15);
  expect(pieces.join('')).toBe(whole);
});

test('connections take turns, and a small response goes ahead of the rest of large ones', async () => {
  const inTurns = createReplyTurns(slowClock(), createReleases());
  const large = Array.from({ length: 30 }, () => aSocket());
  const small = aSocket();
  for (const { socket, listen } of [...large, small]) {
    inTurns(socket, 'owner');
    listen();
  }
  for (const { socket } of large) socket.push(Buffer.alloc(60_000));
  while (large.some(({ pieces }) => pieces.length === 0)) await nextTurn();
  // Each has had its first slice before more than a few were completed.
  expect(large.filter(({ pieces }) => pieces.length > 1).length).toBeLessThan(5);
  small.socket.push(Buffer.alloc(1_500));
  const slicesOf = (all: typeof large) => all.reduce((sum, { pieces }) => sum + pieces.length, 0);
  const before = slicesOf(large);
  while (small.pieces.length < 1) await nextTurn();
  expect(slicesOf(large) - before).toBeLessThan(8);
});

test('owners take turns, however many responses one of them receives', async () => {
  const inTurns = createReplyTurns(slowClock(), createReleases());
  const many = Array.from({ length: 30 }, () => aSocket());
  const other = aSocket();
  for (const { socket, listen } of [...many, other]) {
    inTurns(socket, other.socket === socket ? 'other' : 'owner');
    listen();
    socket.push(Buffer.alloc(60_000));
  }
  const isComplete = ({ pieces }: typeof other) => pieces.join('').length === 60_000;
  while (!isComplete(other)) await nextTurn();
  expect(many.filter(isComplete).length).toBeLessThan(4);
});

/** A connection to a server that does this with its side. */
async function connectTo(serve: (socket: Socket) => void): Promise<Socket> {
  const server = createServer(serve).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return openInPieces({ port, host: '127.0.0.1' });
}

test('of a socket, a small piece is read, and nothing more until that is passed on', async () => {
  const whole = Array.from({ length: 100_000 }, (_, n) => String(n % 10)).join('');
  const socket = await connectTo((other) => other.end(whole));
  createReplyTurns(slowClock(), createReleases())(socket, 'owner');
  let received = '';
  let most = 0;
  socket.on('readable', () => {
    for (let piece = socket.read(); piece !== null; piece = socket.read()) {
      received += String(piece);
      most = Math.max(most, socket.bytesRead - received.length);
    }
  });
  await once(socket, 'end');
  expect(received).toBe(whole);
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(4_096);
});

test('a connection that is reset fails when it is granted a turn; one that we destroy, immediately', async () => {
  const granted: (() => void)[] = [];
  const inTurns = createReplyTurns(slowClock(), (end) => void granted.push(end));
  const reset = await connectTo((other) => void other.once('data', () => other.resetAndDestroy()));
  inTurns(reset, 'owner');
  const errors: string[] = [];
  reset.on('error', ({ message }) => errors.push(message));
  reset.write('x');
  for (let turn = 0; turn < 100_000 && granted.length === 0 && !reset.destroyed; turn++) await nextTurn();
  expect(reset.destroyed).toBe(false);
  expect(errors).toEqual([]);
  for (const fail of granted.splice(0)) fail();
  await new Promise((resolve) => reset.once('close', resolve));
  expect(errors).toEqual(['read ECONNRESET']);

  const destroyed = await connectTo(() => {});
  inTurns(destroyed, 'owner');
  destroyed.on('error', () => {}).destroy(new Error('timeout'));
  expect(destroyed.destroyed).toBe(true);
  expect(granted).toEqual([]);
});

test('data of a closed connection is dropped', async () => {
  const { socket, listen } = aSocket();
  createReplyTurns(slowClock(), createReleases())(socket, 'owner');
  listen();
  socket.push(Buffer.alloc(60_000));
  socket.destroy();
  await once(socket, 'close');
  expect(readingOf(socket)?.heldBytes).toBe(0);
});

test.each([
  ['trailers', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n', 'a:b\r\n'.repeat(13_000)],
  ['headers', 'HTTP/1.1 200 OK\r\n', 'a:b\r\n'.repeat(13_000)],
  ['interim replies', '', 'HTTP/1.1 103 Hints\r\nl:a\r\n\r\n'.repeat(2_200)],
])('thirty responses consisting only of %s do not block other work', async (_, start, more) => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write(start + more));
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  // Counts bytes, with its own clock, because CPU time increases on a busy machine.
  const inTurns = createReplyTurns(slowClock(), createReleases());
  let [parsed, most, total] = [0, 0, 0];
  const clients = Array.from(
    { length: 30 },
    () =>
      new Client(`http://127.0.0.1:${port}`, {
        connect: (_options, callback) => {
          const socket = connect(port, '127.0.0.1', () => {
            inTurns(socket, 'owner');
            const read = socket.read.bind(socket);
            socket.read = (size) => {
              const bytes: Buffer | null = read(size);
              parsed += bytes?.length ?? 0;
              return bytes;
            };
            callback(null, socket);
          });
        },
      }),
  );
  const asked = clients.map((client) =>
    client.request({ path: '/', method: 'GET' }).then(
      ({ body }) => body.dump(),
      () => {},
    ),
  );
  for (let turn = 0; turn < 100_000 && total < 200_000; turn++) {
    await nextTurn();
    most = Math.max(most, parsed);
    total += parsed;
    parsed = 0;
  }
  await Promise.all(clients.map((client) => client.destroy()));
  await Promise.all(asked.map((one) => one.catch(() => {})));
  expect(total).toBeGreaterThanOrEqual(200_000);
  expect(most).toBeLessThanOrEqual(MOST_A_TURN);
});
