import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { endQuietConnections } from '../../src/http/connections.ts';
import { createManualClock } from '../support/manual-clock.ts';

const HEAD = 'GET /held HTTP/1.1\r\nHost: localhost\r\n';

/** A server whose only route responds when told to. */
async function heldServer() {
  const app = Fastify();
  const held = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const clock = createManualClock();
  endQuietConnections(app, clock);
  app.get('/held', async () => {
    begun.resolve();
    await held.promise;
    return 'done';
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { app, clock, begun: begun.promise, answer: held.resolve };
}

async function connection(app: FastifyInstance): Promise<Socket> {
  const accepted = once(app.server, 'connection');
  const socket = connect(Number(new URL(app.listeningOrigin).port), '127.0.0.1');
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
