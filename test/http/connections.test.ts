import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import Fastify from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { listen } from '../../src/http/connections.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { sendRaw } from './raw-http.ts';

const LIMITS = {
  ...{ most: 5, unreadBytes: 1e8, headersMs: 150, requestMs: 300, idleMs: 60_000, silentMs: 500 },
  checkEveryMs: 20,
};

let t: TestApp;
const sockets: Socket[] = [];
beforeEach(async () => {
  t = await buildTestApp({ connections: LIMITS });
  await t.app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await t.app.close();
});

async function open(): Promise<Socket> {
  const address = t.app.server.address();
  if (address === null || typeof address === 'string') throw new Error('the app does not listen');
  const socket = connect(address.port, '127.0.0.1');
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

const health = async () =>
  (await sendRaw(t.app, 'GET /api/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).status;
const connections = () =>
  new Promise<number>((resolve) => t.app.server.getConnections((_error, count) => resolve(count)));

test('a request head that never ends gets 408 and is disconnected while others are served', async () => {
  const slow = sendRaw(t.app, 'GET /api/health HTTP/1.1\r\nHost: x\r\nX-Slow: ');
  expect(await health()).toBe(200);
  expect(await slow).toMatchObject({ status: 408, headers: { 'content-type': 'application/problem+json' } });
});

test('a request head sent byte by byte gets no extra time', async () => {
  const socket = await open();
  const closed = once(socket, 'close');
  socket.on('error', () => undefined);
  socket.resume();
  const drip = setInterval(() => socket.write('a'), 10);
  socket.write('GET /api/health HTTP/1.1\r\nHost: x\r\nX-Slow: ');
  await closed;
  clearInterval(drip);
});

test('a body that never arrives gets 408', async () => {
  const head = `POST /v1/signals HTTP/1.1\r\nHost: x\r\nAuthorization: ${t.auth.authorization}\r\n`;
  const slow = await sendRaw(t.app, `${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`);
  expect(slow.status).toBe(408);
});

test('a client that never reads is disconnected', async () => {
  const socket = await open();
  socket.on('error', () => undefined);
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20_000));
  await expect.poll(connections, { timeout: 10_000 }).toBe(0);
});

test('at the limit, a new connection takes the place of one that is idle', async () => {
  const held = [await open(), await open(), await open(), await open(), await open()];
  await expect.poll(connections).toBe(5);
  const [longest] = held;
  longest?.resume();
  const ended = once(longest as Socket, 'close');
  expect(await health()).toBe(200);
  await ended;
  expect(held.slice(1).some((socket) => socket.closed)).toBe(false);
});

test('connections whose time is up together are closed in turns', async () => {
  const crowded = await buildTestApp({
    connections: { ...LIMITS, most: 1_000, silentMs: 60_000, checkEveryMs: 1_500 },
  });
  await crowded.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = crowded.app.server.address() as AddressInfo;
  const answers = Array.from({ length: 400 }, async (_, n) => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    let said = '';
    socket.on('data', (bytes) => (said += bytes.toString()));
    if (n % 2 === 0) socket.write('GET / HT');
    await once(socket, 'close');
    return said;
  });
  let ended = 0;
  for (const answer of answers) void answer.then(() => ended++);
  const count = () => crowded.logLines.filter((line) => line.includes('unroutable')).length;
  let most = 0;
  for (let before = 0; ended < 400; ) {
    await new Promise((resolve) => setImmediate(resolve));
    const now = count();
    most = Math.max(most, now - before);
    before = now;
    if (now >= 200) crowded.clock.advance(2_000);
  }
  const said = await Promise.all(answers);
  expect(said.filter((text) => text.startsWith('HTTP/1.1 408'))).toHaveLength(200);
  expect(said.filter((text) => text === '')).toHaveLength(200); // never used
  expect(most).toBeLessThanOrEqual(10);
  await crowded.app.close();
});

const isLinux = process.platform === 'linux';

test.runIf(isLinux)('a thousand connections at once are accepted without a retry', async () => {
  const most = Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'));
  const app = Fastify();
  await listen(app, { host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const since = performance.now();
  // All of them reach the system before the server accepts the first.
  const opened = Array.from({ length: Math.min(1_000, most) }, () => connect(port, '127.0.0.1'));
  sockets.push(...opened);
  const slowest = await Promise.all(
    opened.map((socket) => once(socket, 'connect').then(() => performance.now() - since)),
  );
  expect(Math.max(...slowest)).toBeLessThan(1_000);
  for (const socket of opened) socket.destroy();
  await app.close();
});
