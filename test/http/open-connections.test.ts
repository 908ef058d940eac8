import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { superviseConnections } from '../../src/http/open-connections.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { workForATurn } from '../support/turn.ts';

const HEAD = 'GET /held HTTP/1.1\r\nHost: localhost\r\n';

/** More than the system takes for a client. */
const LONG = 'x'.repeat(8_000_000);

/** A server with a route that responds when told to, one with a long response, and one with a body. */
async function heldServer(most = 10, unreadBytes = 1e9) {
  const app = Fastify();
  const held = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const clock = createManualClock();
  superviseConnections(app, { most, unreadBytes }, clock);
  let waiting = 0;
  app.get('/held', async () => {
    waiting++;
    begun.resolve();
    await held.promise;
    return 'done';
  });
  app.get('/long', async () => LONG);
  app.post('/form', async () => 'done');
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { app, clock, begun: begun.promise, waiting: () => waiting, answer: held.resolve };
}

async function connection(app: FastifyInstance, localAddress = '127.0.0.1'): Promise<Socket> {
  const accepted = once(app.server, 'connection');
  const port = Number(new URL(app.listeningOrigin).port);
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  onTestFinished(() => void socket.destroy());
  await accepted;
  return socket;
}

test.each([
  ['no request was sent', ''],
  ['a request was begun', HEAD],
])('a server closes although on a connection %s', async (_what, sent) => {
  const { app } = await heldServer();
  const socket = await connection(app);
  if (sent !== '') socket.write(sent);
  socket.resume();
  const ended = once(socket, 'close');
  await app.close();
  await ended;
});

test('a request in progress is answered and its keep-alive connection closed', async () => {
  const { app, begun, answer } = await heldServer();
  const socket = await connection(app);
  let said = '';
  socket.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  socket.write(`${HEAD}\r\n`);
  await begun;
  const closed = app.close();
  const ended = once(socket, 'close');
  answer();
  await Promise.all([closed, ended]);
  expect(said).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*done$/);
});

test('a caller that does not take its response holds up closing for 25 s at most', async () => {
  const { app, clock, begun } = await heldServer();
  const socket = await connection(app);
  socket.resume();
  socket.write(`${HEAD}\r\n`);
  await begun;
  let isClosed = false;
  const closed = app.close().then(() => {
    isClosed = true;
  });
  await expect.poll(() => clock.pending()).toBe(1);
  clock.advance(24_999);
  await new Promise((resolve) => setImmediate(resolve));
  expect(isClosed).toBe(false);
  clock.advance(1);
  await closed;
  expect(clock.pending()).toBe(0);
});

/** A connection that reads, and whether it has been closed. */
async function reading(app: FastifyInstance, localAddress?: string) {
  const socket = await connection(app, localAddress);
  socket.resume();
  return { socket, closed: once(socket, 'close'), isOpen: () => !socket.closed };
}

/** As many connections as make a client one with many. */
const many = (app: FastifyInstance) => Promise.all(Array.from({ length: 32 }, () => reading(app)));

test('at the limit, the client with the most connections loses the one that has been idle for the longest', async () => {
  const { app, begun, answer } = await heldServer(34);
  const other = await reading(app, '127.0.0.2');
  const busy = await reading(app);
  busy.socket.write(`${HEAD}\r\n`);
  await begun;
  const idle = [await reading(app), ...(await many(app)).slice(1)];
  const third = await reading(app, '127.0.0.3');
  await idle[0]?.closed;
  for (const { isOpen } of [other, busy, third, ...idle.slice(1)]) expect(isOpen()).toBe(true);
  answer();
  await app.close();
});

test('at the limit, without a client that has many, the connection ends that has been idle for the longest', async () => {
  const { app } = await heldServer(3);
  const first = await reading(app, '127.0.0.2');
  const others = [await reading(app), await reading(app)];
  const fourth = await reading(app);
  await first.closed;
  for (const { isOpen } of [fourth, ...others]) expect(isOpen()).toBe(true);
  await app.close();
});

test('at the limit, a client with many connections and no idle one gets no further one', async () => {
  const { app, waiting, answer } = await heldServer(33);
  const other = await reading(app, '127.0.0.2');
  const busy = await many(app);
  for (const { socket } of busy) socket.write(`${HEAD}\r\n`);
  await expect.poll(waiting).toBe(32);
  const beyond = await reading(app);
  await beyond.closed;
  for (const { isOpen } of [other, ...busy]) expect(isOpen()).toBe(true);
  answer();
  await app.close();
});

test('a connection whose response has been sent counts as idle from then on', async () => {
  const { app, answer } = await heldServer(2);
  answer();
  const used = await reading(app);
  const unused = await reading(app);
  used.socket.write(`${HEAD}\r\n`);
  await once(used.socket, 'data');
  const newcomer = await reading(app);
  await unused.closed;
  for (const { isOpen } of [used, newcomer]) expect(isOpen()).toBe(true);
  await app.close();
});

const UNREAD = 'GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n';
const SLOW_FORM =
  'POST /form HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nbegun';

/** A connection that has sent this, and does not read what it gets. */
async function sent(app: FastifyInstance, request: string, localAddress?: string) {
  const begun = once(app.server, 'request');
  const socket = (await connection(app, localAddress)).pause();
  socket.on('error', () => {});
  socket.write(request);
  const [{ socket: taken }] = (await begun) as [{ socket: Socket }];
  return {
    socket,
    isOpen: () => !taken.destroyed,
    unread: () => taken.writableLength,
    received: () => taken.bytesRead,
  };
}

test.each([
  ['the response is not read', UNREAD],
  ['the response is not read although further requests were sent', UNREAD.repeat(2)],
  ['the body does not arrive', SLOW_FORM],
])('at the limit, a connection ends of which %s', async (_what, request) => {
  const { app, answer } = await heldServer(2);
  const stalled = await sent(app, request, '127.0.0.2');
  if (request !== SLOW_FORM) await expect.poll(stalled.unread).toBeGreaterThan(0);
  const idle = await reading(app);
  const newcomer = await reading(app);
  await expect.poll(stalled.isOpen).toBe(false);
  for (const { isOpen } of [idle, newcomer]) expect(isOpen()).toBe(true);
  answer();
  await app.close();
});

test('at the limit, a transfer goes on while bytes move, and others that wait end', async () => {
  const { app } = await heldServer(2);
  const slow = await sent(app, SLOW_FORM, '127.0.0.2');
  const silent = await reading(app);
  const taken = slow.socket.bytesWritten;
  slow.socket.write('abc');
  await expect.poll(() => slow.received()).toBeGreaterThanOrEqual(taken + 3);
  await reading(app);
  await silent.closed;
  expect(slow.isOpen()).toBe(true);
  await reading(app); // nothing was sent since then
  await reading(app);
  await expect.poll(slow.isOpen).toBe(false);
  await app.close();
});

test('if unread responses take too much memory, the connection ends whose client has not read for the longest', async () => {
  const { app } = await heldServer(10, 2.5 * LONG.length);
  const stalled = [await sent(app, UNREAD), await sent(app, UNREAD)];
  for (const { unread } of stalled) await expect.poll(unread).toBeGreaterThan(0);
  const third = await sent(app, UNREAD);
  await expect.poll(third.unread).toBeGreaterThan(0);
  await expect.poll(() => stalled.map(({ isOpen }) => isOpen())).toEqual([false, true]);
  expect(third.isOpen()).toBe(true);
  for (const { socket } of [...stalled, third]) socket.destroy();
  await app.close();
});

test('a response that is still being read when the server closes is complete', async () => {
  const { app } = await heldServer();
  const { socket, unread } = await sent(app, UNREAD);
  await expect.poll(unread).toBeGreaterThan(0);
  const closed = app.close();
  await new Promise((resolve) => setImmediate(resolve));
  let length = 0;
  socket.on('data', (chunk: Buffer) => {
    length += chunk.length;
  });
  const read = once(socket, 'close');
  socket.resume();
  await Promise.all([closed, read]);
  expect(length).toBeGreaterThan(LONG.length);
});

test('a closing server ends its idle connections in turns', async () => {
  const { app } = await heldServer(40);
  const turns: number[] = [];
  let accepted = 0;
  app.server.on('connection', (socket) => {
    accepted++;
    const end = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      turns.push(workForATurn());
      end();
    };
  });
  const open = await many(app);
  await expect.poll(() => accepted).toBe(open.length);
  await app.close();
  await Promise.all(open.map(({ closed }) => closed));
  expect(turns).toHaveLength(open.length);
  expect(new Set(turns).size).toBe(open.length);
});
