import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
  await t.app.listen({ port: 0, host: '127.0.0.1' });
});
afterEach(() => t.app.close());

/** Returns everything received on a connection until it is closed. */
function exchange(bytes: string): Promise<string> {
  const address = t.app.server.address();
  if (address === null || typeof address === 'string') throw new Error('the app does not listen');
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect(address.port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => {}); // closed before everything was read
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()));
  });
}

const get = (path: string, last = false) =>
  `GET ${path} HTTP/1.1\r\nhost: a\r\n${last ? 'connection: close\r\n' : ''}\r\n`;

test('pipelined requests are all answered in order', async () => {
  const paths = Array.from({ length: 60 }, (_, n) => `/nowhere-${n}`);
  const said = await exchange(paths.map((path, n) => get(path, n === 59)).join(''));
  const answered = [...said.matchAll(/(nowhere-\d+)/g)].map(([name]) => `/${name}`);
  expect([...new Set(answered)]).toEqual(paths);
  expect(said.match(/HTTP\/1\.1 404/g)).toHaveLength(60);
});

test('a request that arrives during a response waits for it, and its body is read', async () => {
  const body = JSON.stringify({ name: 'Second' });
  const head = `POST /v1/icps HTTP/1.1\r\nhost: a\r\nauthorization: ${t.auth.authorization}\r\ncontent-type: application/json\r\n`;
  const post = `${head}content-length: ${body.length}\r\n\r\n${body}`;
  const said = await exchange(get('/api/health') + post + get('/v1', true));
  expect(said.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 201', 'HTTP/1.1 200']);
});

test('thousands of pipelined requests are answered without blocking the event loop', async () => {
  let seen = t.logLines.length;
  let mostInATurn = 0;
  let over = false;
  const look = () => {
    mostInATurn = Math.max(mostInATurn, t.logLines.length - seen);
    seen = t.logLines.length;
    if (!over) setImmediate(look);
  };
  look();
  const said = await exchange(get('/nowhere').repeat(1_999) + get('/nowhere', true));
  over = true;
  expect(said.match(/HTTP\/1\.1 (404|429)/g)).toHaveLength(2_000);
  expect(mostInATurn).toBeLessThan(10);
  expect(await exchange(get('/api/health', true))).toContain('200 OK');
});
