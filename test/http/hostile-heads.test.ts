import { afterAll, beforeAll, expect, test } from 'vitest';
import { signedIn } from '../dashboard/browser-session.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { sendRaw } from './raw-http.ts';

let t: TestApp;
let cookie: string;
beforeAll(async () => {
  t = await buildTestApp({ env: { TRUST_PROXY: '127.0.0.0/8' } });
  const browser = await signedIn(t, t.tenant.id);
  cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  await t.app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => t.app.close());

/** Nearly all that a head may hold. */
const BYTES = 14_500;
/** One after the other on a connection: what is quadratic takes 255 ms each, what is linear a few. */
const COPIES = 8;
const BUDGET_MS = 1_000;

function filled(unit: string, end: string): string {
  return unit.repeat(Math.floor((BYTES - end.length) / unit.length)) + end;
}

/**
 * The processor time for all copies of a request, each answered before the next. What others of the machine take is not in
 * it: at a load of 13 a second of the clock was over for what takes 80 ms.
 */
async function timeOf(target: string, headers: Record<string, string>): Promise<number> {
  const lines = Object.entries({ host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}`);
  const head = (last: boolean) =>
    [`GET ${target} HTTP/1.1`, ...lines, ...(last ? ['connection: close'] : []), '', ''].join('\r\n');
  const bytes = Buffer.from(head(false).repeat(COPIES - 1) + head(true), 'latin1');
  const before = process.cpuUsage();
  await sendRaw(t.app, bytes);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** The requests that took longer than the budget, in words. */
async function slowest(requests: { name: string; target: string; headers: Record<string, string> }[]) {
  const slow: string[] = [];
  for (const { name, target, headers } of requests) {
    const ms = await timeOf(target, headers);
    if (ms > BUDGET_MS) slow.push(`${name}: ${Math.round(ms)} ms`);
  }
  return slow;
}

const PREFIXES = [
  '/',
  '/dashboard/',
  '/v1/',
  '/api/',
  '/feedback/',
  '/dashboard/login?next=',
  '/dashboard/find?q=',
];
const PATH_UNITS = ['/', '//./', '../', '.', '%2f', '%', '%cc%80', '&a', 'a=&', '+', ';'];

test.each(PREFIXES)('15 KB of anything behind %s stall nobody', async (prefix) => {
  const requests = PATH_UNITS.flatMap((unit) =>
    ['', 'x'].map((end) => ({
      name: `${JSON.stringify(unit)} … ${JSON.stringify(end)}`,
      target: prefix + filled(unit, end),
      headers: prefix.startsWith('/dashboard') ? { cookie } : {},
    })),
  );
  expect(await slowest(requests)).toEqual([]);
});

const HEADERS: [header: string, target: string][] = [
  ['accept', '/'],
  ['accept', '/nope'],
  ['accept-encoding', '/'],
  ['authorization', '/v1/me'],
  ['cache-control', '/'],
  ['cookie', '/dashboard'],
  ['if-none-match', '/'],
  ['origin', '/v1/me'],
  ['traceparent', '/v1/me'],
  ['user-agent', '/dashboard/login'],
  ['x-forwarded-for', '/api/health'],
];
const HEADER_UNITS = [
  ',',
  ' ',
  ' ,',
  '\t',
  ';',
  '"',
  '\\"',
  '=',
  'a/a;',
  '*/*,',
  'W/"a",',
  '127.0.0.1,',
  'a=b;',
  '\xe9',
];

test.each(HEADERS)('15 KB of anything as %s of %s stall nobody', async (header, target) => {
  const requests = HEADER_UNITS.flatMap((unit) =>
    ['', 'x'].map((end) => ({
      name: `${JSON.stringify(unit)} … ${JSON.stringify(end)}`,
      target,
      headers: { [header]: filled(unit, end) },
    })),
  );
  expect(await slowest(requests)).toEqual([]);
});
