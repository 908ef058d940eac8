import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { type RawAnswer, sendRaw } from './raw-http.ts';

let t: TestApp;
beforeAll(async () => {
  t = await buildTestApp();
  await t.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => t.app.close());

function expectProblem(answer: RawAnswer, status: number, code: string) {
  expect(answer.status).toBe(status);
  expect(answer.headers['content-type']).toBe('application/problem+json');
  expect(answer.headers['x-request-id']).toMatch(/^req_/);
  const problem = JSON.parse(answer.body);
  expect(problem).toMatchObject({
    type: expect.stringMatching(/^https:\/\/signals\.example\.com\/developers\/errors#/),
    status,
    code,
    request_id: answer.headers['x-request-id'],
  });
  return problem;
}

test('an unknown method gets a problem document', async () => {
  const answer = await sendRaw(t.app, 'BREW /api/health HTTP/1.1\r\nHost: x\r\n\r\n');
  expectProblem(answer, 400, 'INVALID_REQUEST');
  expect(answer.headers['x-api-version']).toBe('v1');
});

test('an oversized header gets a problem document with status 431', async () => {
  const answer = await sendRaw(
    t.app,
    `GET /api/health HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`,
  );
  expect(expectProblem(answer, 431, 'INVALID_REQUEST').title).toBe('Request Header Fields Too Large');
});

test('a NUL byte in the URL gets a problem document', async () => {
  expectProblem(await sendRaw(t.app, 'GET /api/\0 HTTP/1.1\r\nHost: x\r\n\r\n'), 400, 'INVALID_REQUEST');
});

test('input that is not HTTP gets a problem document', async () => {
  expectProblem(await sendRaw(t.app, 'hello\r\n\r\n'), 400, 'INVALID_REQUEST');
});

test('CONNECT gets a problem document', async () => {
  expectProblem(
    await sendRaw(t.app, 'CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n'),
    400,
    'INVALID_REQUEST',
  );
});

test('a request without Host gets a problem document', async () => {
  const answer = await sendRaw(t.app, 'GET /api/health HTTP/1.1\r\nConnection: close\r\n\r\n');
  expectProblem(answer, 400, 'INVALID_REQUEST');
  expect(answer.headers['x-api-version']).toBe('v1');
});

test.each(['/api/health', '/v1/me', '/', '/llms.txt'])(
  'two Host headers get a problem document at %s',
  async (path) => {
    const request = `GET ${path} HTTP/1.1\r\nHost: x\r\nhOST: y\r\nConnection: close\r\n\r\n`;
    const problem = expectProblem(await sendRaw(t.app, request), 400, 'INVALID_REQUEST');
    expect(problem.detail).toBe('There is more than one Host header.');
  },
);

test('an unknown Expect header does not prevent the response', async () => {
  const request = 'GET /api/health HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nConnection: close\r\n\r\n';
  expect((await sendRaw(t.app, request)).status).toBe(200);
});

test('a URL that is not a path is reported as such', async () => {
  const answer = await sendRaw(t.app, 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  expect(expectProblem(answer, 400, 'INVALID_REQUEST').detail).toBe('The address does not begin with "/".');
});

test('an absolute URL is handled like its path', async () => {
  const request = 'GET http://x/api/nope?a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  expect(expectProblem(await sendRaw(t.app, request), 404, 'NOT_FOUND').instance).toBe('/api/nope');
});

test('a request that could not be routed is logged', async () => {
  const answer = await sendRaw(t.app, 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n');
  const line = t.logLines.find((text) => text.includes(String(answer.headers['x-request-id'])));
  expect(JSON.parse(line ?? '{}')).toMatchObject({ status: 400, reason: 'HPE_INVALID_METHOD' });
});
