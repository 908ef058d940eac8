import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { run } from './process.ts';

const GOOD = {
  success: true,
  data: { status: 'ok', service: 'localhost', time: '2026-11-16T08:00:00.000Z' },
};

/** Runs `health` against a server with this response. */
async function healthOf(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    return await run(['health', '--base-url', url]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const answering =
  (status: number, body: unknown, headers: Record<string, string> = {}): RequestListener =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

test('prints the response of a healthy server and exits with 0', async () => {
  const { code, stdout } = await healthOf((request, response) =>
    answering(request.url === '/api/health' ? 200 : 404, GOOD)(request, response),
  );
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual(GOOD);
});

test.for([
  ['an error', 503, { code: 'UNAVAILABLE' }],
  ['a redirect', 302, ''],
  ['200 without JSON', 200, '<h1>hello</h1>'],
  ['200 with another document', 200, { success: true, data: { status: 'degraded' } }],
] as const)('exits with 1 on %s', async ([, status, body]) => {
  expect(await healthOf(answering(status, body))).toMatchObject({ code: 1, stdout: '' });
});

test('exits with 2 when the connection is refused', async () => {
  const { code, stderr } = await run(['health'], { SIGNALPOST_URL: 'http://127.0.0.1:1' });
  expect(code).toBe(2);
  expect(stderr).toContain('ECONNREFUSED');
});

test('exits with 2 when the response is cut off', async () => {
  const ended = await healthOf((_request, response) => {
    response.writeHead(200, { 'content-length': '500' });
    response.write('{"success":true', () => response.destroy());
  });
  expect(ended).toMatchObject({ code: 2, stdout: '' });
});

test('exits with 2 when the host does not exist', async () => {
  expect((await run(['health', '--base-url', 'http://no-such-host.invalid'])).code).toBe(2);
});

test('exits with 2 when there is no response within 10 s', async () => {
  const { code, stderr } = await healthOf(() => undefined);
  expect(code).toBe(2);
  expect(stderr).toContain('no answer in 10 s');
});

test('exits with 3 when rate limited, and prints the seconds to wait', async () => {
  expect(await healthOf(answering(429, {}, { 'retry-after': '17' }))).toMatchObject({
    code: 3,
    stdout: '',
    stderr: 'Rate limited. Retry-After: 17\n',
  });
});
