import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sendRaw } from '../http/raw-http.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await buildTestApp({ env: { PUBLIC_RATE_LIMIT: '1000000' } });
  await t.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => t.app.close());

/** Sends exactly these bytes as the target: `inject` and every client would normalise them first. */
const ask = (target: string, headers: string[] = [], method = 'GET') =>
  sendRaw(
    t.app,
    Buffer.from(
      [`${method} ${target} HTTP/1.1`, 'Host: x', 'Connection: close', ...headers, '', ''].join('\r\n'),
      'latin1',
    ),
  );

test.each([
  ['/..', 404],
  ['/../../etc/passwd', 404],
  ['/%2e%2e/%2e%2e/etc/passwd', 404],
  ['/..%2f..%2fetc%2fpasswd', 404],
  ['/assets/../../package.json', 404],
  ['/assets/%2e%2e%2f%2e%2e%2fpackage.json', 404],
  ['/developers/../pricing', 404],
  ['/%00', 404],
  ['/pricing%00.md', 404],
  ['/pricing%2F', 404],
  ['/\\evil.example/', 404],
  ['/%5cevil.example/', 404],
  ['//evil.example', 404],
  ['//evil.example/%2e%2e', 404],
  ['//pricing/', 404],
  ['/.git/config', 404],
  ['/content/site.json', 404],
  ['/pricing;a=b', 404],
  ['/%zz', 400],
  ['/%', 400],
  ['/%c0%af', 400],
  ['/pricing/%zz', 400],
  ['nonsense', 400],
  ['http://evil.example/nope', 404],
  ['http://evil.example//evil.example/', 404],
  ['/api/%zz', 404],
  ['/api/../v1/me', 404],
  ['/pricing\u0000', 400],
  // URLs contain only ASCII (RFC 3986): other bytes must be escaped.
  ['/caf\u00e9', 400],
  ['/caf%C3%A9', 404],
] as const)('%j gets status %i', async (target, status) => {
  const answer = await ask(target);
  expect(answer.status).toBe(status);
  expect(answer.headers).not.toHaveProperty('location');
});

test('an absolute URL is handled like its path', async () => {
  expect((await ask('http://evil.example/pricing')).status).toBe(200);
  expect((await ask('http://evil.example/pricing/')).headers.location).toBe('/pricing');
});

test('headers up to the size limit are read, and longer ones are refused', async () => {
  const long = `text/markdown;q=0.5;${'x'.repeat(12_000)}`;
  const answer = await ask('/pricing', [`Accept: ${long}`, `If-None-Match: ${'"a", '.repeat(500)}"b"`]);
  expect(answer.status).toBe(200);
  expect(answer.headers['content-type']).toBe('text/markdown; charset=utf-8');
  expect((await ask('/pricing', [`Accept: ${'x'.repeat(20_000)}`])).status).toBe(431);
});

test('no path causes a server error or redirects to another host', async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '/',
      '//',
      '..',
      '.',
      '%',
      '%2f',
      '%2F',
      '%5c',
      '%00',
      '%zz',
      '\\',
      'pricing',
      'api',
      'v1',
    ),
    fc.constantFrom('evil.example', '.md', '?', '#', ';', '@', ':', 'http:', 'developers', 'index', '%c0%ae'),
    fc.string({ unit: 'binary-ascii', maxLength: 6 }).map((text) => text.replace(/[^!-~]/g, '')),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { maxLength: 8 }),
      fc.constantFrom('GET', 'HEAD', 'OPTIONS', 'POST', 'PROPFIND'),
      fc.constantFrom('', '*/*', 'text/markdown', 'application/json', ',;=q'),
      async (pieces, method, accept) => {
        const answer = await ask(`/${pieces.join('')}`, [`Accept: ${accept}`, 'Content-Length: 0'], method);
        expect([200, 204, 308, 400, 401, 404, 405, 406]).toContain(answer.status);
        expect(answer.headers.location ?? '/').toMatch(/^\/(?![/\\])/);
      },
    ),
    { numRuns: 300 },
  );
});
