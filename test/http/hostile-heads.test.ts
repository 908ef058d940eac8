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

/** Nearly the maximum size of a request head. */
const BYTES = 14_500;
/** Sent one after the other on a connection: quadratic work takes 255 ms each, linear work a few. */
const COPIES = 8;
const BUDGET_MS = 1_000;

function filled(unit: string, end: string): string {
  return unit.repeat(Math.floor((BYTES - end.length) / unit.length)) + end;
}

/**
 * The CPU time for all copies of a request, each answered before the next. Wall time would include other
 * processes: at a load of 13, requests that take 80 ms of CPU time took over a second.
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

/** Describes the requests that exceeded the budget. */
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

test.each(PREFIXES)('15 KB of anything after %s does not block the server', async (prefix) => {
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

test.each(HEADERS)('15 KB of anything as %s of %s does not block the server', async (header, target) => {
  const requests = HEADER_UNITS.flatMap((unit) =>
    ['', 'x'].map((end) => ({
      name: `${JSON.stringify(unit)} … ${JSON.stringify(end)}`,
      target,
      headers: { [header]: filled(unit, end) },
    })),
  );
  expect(await slowest(requests)).toEqual([]);
});
