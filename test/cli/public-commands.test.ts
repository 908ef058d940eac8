import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PUBLIC_OPERATIONS } from '../../src/model/public-api.ts';
import { BASE_URL, buildTestApp, type TestApp } from '../support/app.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { runInProcess } from './in-process.ts';
import { run } from './process.ts';

let t: TestApp;
let url: string;
beforeAll(async () => {
  t = await buildTestApp({ env: { PUBLIC_RATE_LIMIT: '1000' } });
  url = await t.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => t.app.close());

const ask = (...args: string[]) => runInProcess(args, { env: { SIGNALPOST_URL: url } });

/** Runs a command against a server with this response. */
async function askOf(listener: RequestListener, ...args: string[]) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    return await runInProcess([...args, '--base-url', address]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const answering =
  (status: number, body: string, headers: Record<string, string> = {}): RequestListener =>
  (_request, response) => {
    response.writeHead(status, headers);
    response.end(body);
  };

const COMMANDS: [string, ...string[]][] = [
  ['health'],
  ['status'],
  ['openapi'],
  ['openapi', '--operations'],
  ['page', '/'],
];

test('status prints the status document', async () => {
  const { code, stdout, stderr } = await ask('status');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({
    success: true,
    data: { apiVersion: 'v1', website: `${BASE_URL}/` },
  });
});

test('openapi prints the description exactly as served', async () => {
  const { code, stdout } = await ask('openapi');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual((await t.app.inject('/openapi.json')).json());
});

test('openapi --operations lists id, method, path and summary of each operation', async () => {
  const { code, stdout } = await ask('openapi', '--operations');
  expect(code).toBe(0);
  const known = PUBLIC_OPERATIONS.map(({ operationId, path, summary }) => ({
    operationId,
    method: 'GET',
    path,
    summary,
  }));
  expect(JSON.parse(stdout)).toEqual([
    ...known,
    { operationId: 'getUnknown', method: 'GET', path: '/api/{unknown}', summary: 'Any other path' },
  ]);
});

test.each([['/pricing'], ['pricing'], ['/pricing/'], ['/pricing?from=cli'], ['/pricing.md']])(
  'page %s prints the page as markdown',
  async (path) => {
    expect(await ask('page', path)).toEqual({
      code: 0,
      stdout: '# Pricing\n\nWhat the page Pricing is about.\n',
      stderr: '',
    });
  },
);

test('page / prints the home page', async () => {
  expect((await ask('page', '/')).stdout).toBe('# Home\n\nWhat the page Home is about.\n');
});

test.each(['/pricng', '//evil.example/pricing', '/..%2f..%2fetc/passwd', '/a b', '/é'])(
  'page %s does not exist: exits with 1 and prints suggestions only to stderr',
  async (path) => {
    const { code, stdout, stderr } = await ask('page', path);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`${url}/`);
    expect(stderr).toContain('answered 404');
    for (const way of ['/sitemap.xml', '/llms.txt', '/developers', '/openapi.json', '/api/v1/status']) {
      expect(stderr).toContain(`${BASE_URL}${way}`);
    }
  },
);

test('page follows no redirect to another server', async () => {
  const elsewhere = await askOf(answering(308, '', { location: 'https://evil.example/x' }), 'page', '/x');
  expect(elsewhere).toMatchObject({ code: 1, stdout: '' });
  expect(elsewhere.stderr).toContain('answered 308');
});

test.each([
  ['HTML', 'text/html; charset=utf-8'],
  ['plain text', 'text/plain'],
])('page exits with 1 if a 200 is %s instead of markdown', async (_name, type) => {
  const ended = await askOf(answering(200, '<h1>x</h1>', { 'content-type': type }), 'page', '/');
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain(type);
});

test.each(COMMANDS)('%s %s exits with 1 on an error, with its document on stderr', async (...args) => {
  const ended = await askOf(answering(503, '{"code":"UNAVAILABLE"}'), ...args.filter(Boolean));
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain('answered 503\n{"code":"UNAVAILABLE"}');
});

test.each([
  ['health', '{"success":true,"data":{"status":"degraded","service":"x","time":"2026-01-01T00:00:00Z"}}'],
  ['status', '{"success":true,"data":{}}'],
  ['openapi', '{"swagger":"2.0"}'],
  ['openapi', 'no JSON'],
])('%s exits with 1 if a 200 is not as documented', async (command, body) => {
  const ended = await askOf(answering(200, body, { 'content-type': 'application/json' }), command);
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain('not the documented response');
});

test.each(COMMANDS)('%s %s exits with 2 if nothing is listening', async (...args) => {
  const ended = await runInProcess([...args.filter(Boolean), '--base-url', 'http://127.0.0.1:1']);
  expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('ECONNREFUSED') });
});

test.each(COMMANDS)('%s %s exits with 3 when rate limited, with the seconds on stderr', async (...args) => {
  const ended = await askOf(answering(429, '{}', { 'retry-after': '17' }), ...args.filter(Boolean));
  expect(ended).toEqual({ code: 3, stdout: '', stderr: 'Rate limited. Retry-After: 17\n' });
});

test('a Retry-After that is a date is printed in seconds', async () => {
  const clock = createManualClock(Date.UTC(2026, 0, 1));
  const server = createServer(answering(429, '', { 'retry-after': 'Thu, 01 Jan 2026 00:00:42 GMT' }));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ended = await runInProcess(['status', '--base-url', address], { clock });
  server.close();
  expect(ended.stderr).toBe('Rate limited. Retry-After: 42\n');
});

test('a response that does not end within 10 s is a network error', async () => {
  const clock = createManualClock();
  const server = createServer((_request, response) => void response.write('{'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ending = runInProcess(['page', '/', '--base-url', address], { clock });
  await once(server, 'request');
  clock.advance(10_000);
  const ended = await ending;
  server.closeAllConnections();
  server.close();
  expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('no answer in 10 s') });
});

test.each([
  ['page'],
  ['page', '/a', '/b'],
  ['page', 'https://example.com/pricing'],
  ['status', 'extra'],
  ['status', '--base-url', 'ftp://example.com'],
  ['openapi', '--operation'],
])('%s %s %s is a usage error', async (...args) => {
  const ended = await runInProcess(args.filter(Boolean));
  expect(ended).toMatchObject({ code: 64, stdout: '' });
  expect(ended.stderr).not.toBe('');
});

test('a real process uses the same exit codes', async () => {
  const env = { SIGNALPOST_URL: url };
  const [page, missing, refused] = await Promise.all([
    run(['page', '/pricing'], env),
    run(['page', '/nope'], env),
    run(['status'], { SIGNALPOST_URL: 'http://127.0.0.1:1' }),
  ]);
  expect(page).toEqual({ code: 0, stdout: '# Pricing\n\nWhat the page Pricing is about.\n', stderr: '' });
  expect(missing).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('# Page not found') });
  expect(refused).toMatchObject({ code: 2, stdout: '' });
});
