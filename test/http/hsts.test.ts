import { expect, onTestFinished, test } from 'vitest';
import { buildTestApp } from '../support/app.ts';
import { sendRaw } from './raw-http.ts';

const FOR_A_YEAR = 'max-age=31536000';
const PATHS = [
  '/',
  '/nope',
  '/%zz',
  '/api/health',
  '/v1/me',
  '/v1/nope',
  '/openapi.json',
  '/dashboard',
  '/dashboard/login',
  '/feedback/x',
];

async function appAt(env: Record<string, string>) {
  const t = await buildTestApp({ env });
  onTestFinished(() => t.app.close());
  return t;
}

test('every response of a server with an https base URL sets Strict-Transport-Security', async () => {
  const { app } = await appAt({ BASE_URL: 'https://signals.example.com' });
  for (const url of PATHS) {
    const { headers } = await app.inject(url);
    expect([url, headers['strict-transport-security']]).toEqual([url, FOR_A_YEAR]);
    const cached = await app.inject({ url, headers: { 'if-none-match': String(headers.etag ?? '"a"') } });
    expect([url, cached.headers['strict-transport-security']]).toEqual([url, FOR_A_YEAR]);
  }
  await app.listen({ port: 0, host: '127.0.0.1' });
  for (const head of [
    'nonsense\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n',
    `GET /${'a'.repeat(20_000)} HTTP/1.1\r\n\r\n`,
  ]) {
    const { headers } = await sendRaw(app, head.replace('HTTP/1.1\r\n', 'HTTP/1.1\r\nConnection: close\r\n'));
    expect(headers['strict-transport-security']).toBe(FOR_A_YEAR);
  }
});

test('a server with an http base URL sets it only when a trusted proxy was reached over TLS', async () => {
  const { app } = await appAt({ BASE_URL: 'http://localhost:3000' });
  const proxied = await appAt({ BASE_URL: 'http://localhost:3000', TRUST_PROXY: '127.0.0.1/32' });
  const headers = { 'x-forwarded-proto': 'https' };
  for (const url of PATHS.slice(0, 2)) {
    expect((await app.inject({ url, headers })).headers).not.toHaveProperty('strict-transport-security');
    expect((await proxied.app.inject({ url })).headers).not.toHaveProperty('strict-transport-security');
    const told = await proxied.app.inject({ url, headers });
    expect(told.headers['strict-transport-security']).toBe(FOR_A_YEAR);
  }
});
