import { afterEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp, type TestAppOptions } from '../support/app.ts';

let t: TestApp;
afterEach(() => t.app.close());

async function start(env: TestAppOptions['env'] = {}) {
  t = await buildTestApp({ env });
}

function call(line: string, options: { ip?: string; forwarded?: string } = {}) {
  const [method, url] = line.split(' ') as ['GET', string];
  return t.app.inject({
    method,
    url,
    ...(options.ip === undefined ? {} : { remoteAddress: options.ip }),
    headers: options.forwarded === undefined ? {} : { 'x-forwarded-for': options.forwarded },
  });
}

const MIXED = [
  'GET /api/health',
  'HEAD /api/health',
  'OPTIONS /api/health',
  'GET /api/nope',
  'POST /api/health',
  'GET /api/%zz',
];

test('sixty requests of any kind are allowed per window, and the next one gets 429', async () => {
  await start();
  for (let i = 0; i < 60; i++) {
    const answer = await call(MIXED[i % MIXED.length] ?? '');
    expect(answer.statusCode).not.toBe(429);
    expect(answer.headers['ratelimit-remaining']).toBe(String(59 - i));
  }
  for (const line of MIXED) {
    const answer = await call(line);
    expect(answer.statusCode).toBe(429);
    expect(answer.headers).toMatchObject({
      'retry-after': '60',
      'ratelimit-limit': '60',
      'ratelimit-remaining': '0',
      'ratelimit-policy': '60;w=60',
      ratelimit: expect.stringMatching(/^"default";r=\d+;t=\d+$/),
      'x-api-version': 'v1',
      'access-control-allow-origin': '*',
    });
    if (!line.startsWith('HEAD')) expect(answer.json()).toMatchObject({ code: 'RATE_LIMITED', status: 429 });
  }
});

test('Retry-After is exact: a request is rejected a moment earlier and allowed on time', async () => {
  await start({ PUBLIC_RATE_LIMIT: '1' });
  await call('GET /api/health');
  t.clock.advance(12_345);
  const refused = await call('GET /api/health');
  expect(refused.headers['retry-after']).toBe('48');
  expect(refused.headers.ratelimit).toBe('"default";r=0;t=48');
  t.clock.advance(47_654);
  expect((await call('GET /api/health')).headers['retry-after']).toBe('1');
  t.clock.advance(1);
  expect((await call('GET /api/health')).statusCode).toBe(200);
});

test('the reset time is constant for the whole window, whatever the wall clock does', async () => {
  await start({ PUBLIC_RATE_LIMIT: '2' });
  const reset = (await call('GET /api/health')).headers['ratelimit-reset'];
  t.clock.advance(30_500);
  t.clock.stepWall(3_600_000);
  const second = await call('GET /api/health');
  expect(second.headers['ratelimit-reset']).toBe(reset);
  expect((await call('GET /api/health')).statusCode).toBe(429);
});

test('clients are counted separately, and expired windows are forgotten', async () => {
  await start({ PUBLIC_RATE_LIMIT: '1' });
  expect((await call('GET /api/health', { ip: '192.0.2.1' })).statusCode).toBe(200);
  expect((await call('GET /api/health', { ip: '192.0.2.2' })).statusCode).toBe(200);
  t.clock.advance(59_999);
  expect((await call('GET /api/health', { ip: '192.0.2.1' })).statusCode).toBe(429);
  t.clock.advance(300_000);
  expect((await call('GET /api/health', { ip: '192.0.2.1' })).statusCode).toBe(200);
});

test('a forged X-Forwarded-For has no effect', async () => {
  await start({ PUBLIC_RATE_LIMIT: '1' });
  await call('GET /api/health', { forwarded: '198.51.100.1' });
  expect((await call('GET /api/health', { forwarded: '198.51.100.2' })).statusCode).toBe(429);
  expect((await call('GET /api/%zz', { forwarded: '198.51.100.3' })).statusCode).toBe(429);
});

test('behind a trusted proxy each client is counted separately, for malformed URLs too', async () => {
  await start({ PUBLIC_RATE_LIMIT: '1', TRUST_PROXY: '10.0.0.0/8' });
  const ip = '10.1.2.3';
  expect((await call('GET /api/health', { ip, forwarded: '198.51.100.1' })).statusCode).toBe(200);
  expect((await call('GET /api/%zz', { ip, forwarded: '198.51.100.2' })).statusCode).toBe(404);
  expect((await call('GET /api/health', { ip, forwarded: '198.51.100.2' })).statusCode).toBe(429);
  const forged = '203.0.113.9, 198.51.100.1';
  expect((await call('GET /api/health', { ip, forwarded: forged })).statusCode).toBe(429);
});

test('at most 16 trusted proxies in a row are passed on the way to the client', async () => {
  await start({ PUBLIC_RATE_LIMIT: '1', TRUST_PROXY: '10.0.0.0/8' });
  const via = (client: string, proxies: number) => ({
    ip: '10.1.2.3',
    forwarded: [client, ...Array(proxies - 1).fill('10.0.0.1')].join(', '),
  });
  expect((await call('GET /api/health', via('198.51.100.1', 16))).statusCode).toBe(200);
  expect((await call('GET /api/health', via('198.51.100.2', 16))).statusCode).toBe(200);
  expect((await call('GET /api/health', via('198.51.100.3', 17))).statusCode).toBe(200);
  expect((await call('GET /api/health', via('198.51.100.4', 3_000))).statusCode).toBe(429); // both count as 10.0.0.1
});

test('an X-Forwarded-For that is not an address counts toward the proxy', async () => {
  await start({ PUBLIC_RATE_LIMIT: '1', TRUST_PROXY: '10.0.0.0/8' });
  expect((await call('GET /api/health', { ip: '10.1.2.3', forwarded: 'unknown' })).statusCode).toBe(200);
  expect((await call('GET /api/health', { ip: '10.1.2.3', forwarded: 'nonsense' })).statusCode).toBe(429);
});

test('IPv6 clients are counted by /64 network, IPv4-mapped addresses by IPv4 address', async () => {
  await start({ PUBLIC_RATE_LIMIT: '1' });
  expect((await call('GET /api/health', { ip: '2001:db8:1:2::1' })).statusCode).toBe(200);
  expect((await call('GET /api/health', { ip: '2001:db8:1:2:ffff::9' })).statusCode).toBe(429);
  expect((await call('GET /api/health', { ip: '2001:db8:1:3::1' })).statusCode).toBe(200);
  expect((await call('GET /api/health', { ip: '192.0.2.7' })).statusCode).toBe(200);
  expect((await call('GET /api/health', { ip: '::ffff:192.0.2.7' })).statusCode).toBe(429);
  expect((await call('GET /api/health', { ip: '::ffff:192.0.2.8' })).statusCode).toBe(200);
});

test('a percent-encoded path counts too', async () => {
  await start({ PUBLIC_RATE_LIMIT: '1' });
  expect((await call('GET /%61pi/health')).statusCode).toBe(200);
  expect((await call('GET /api/health')).statusCode).toBe(429);
});

test('paths outside /api have no such limit', async () => {
  await start({ PUBLIC_RATE_LIMIT: '1' });
  await call('GET /api/health');
  expect((await call('GET /')).statusCode).toBe(200);
  expect((await call('GET /')).headers['ratelimit-limit']).toBeUndefined();
});
