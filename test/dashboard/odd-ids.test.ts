import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { csrfOf, signedIn, type TestBrowser } from './browser-session.ts';
import { fillAccount } from './full-account.ts';

let made: TestApp;
let browser: TestBrowser;
let _csrf: string;
beforeAll(async () => {
  made = await buildTestApp({ env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
  browser = await signedIn(made, made.tenant.id);
  await fillAccount(made, 'http://127.0.0.1:9/');
  _csrf = csrfOf((await browser.get('/dashboard')).body);
});
afterAll(() => made.app.close());

const IDS = [
  `sig_${'a'.repeat(61)}`,
  'a'.repeat(64),
  'a'.repeat(65),
  'a'.repeat(300),
  'a'.repeat(9_000),
  ...['__proto__', 'constructor', '%00', '%0d%0a', '%F0%9F%98%80', '..%2f..', '%20', '0', '-1', 'null', '[]'],
  `${'%CC%80'.repeat(60)}`,
];

function routesOf(method: string): string[] {
  const own = made.routes.filter((route) => route.method === method && route.url.startsWith('/dashboard'));
  return own.map(({ url }) => url).filter((url) => !url.includes('/assets/'));
}

test('no screen fails for an impossible ID', async () => {
  const screens = routesOf('GET').filter((url) => url.includes(':'));
  expect(screens.length).toBeGreaterThan(9);
  for (const url of screens) {
    for (const id of IDS) {
      const address = url.replace(/:\w+/g, id);
      const { statusCode } = await browser.get(address);
      expect([url, id.slice(0, 70), statusCode]).toEqual([url, id.slice(0, 70), 404]);
    }
  }
});

test('no form fails for an impossible ID', async () => {
  const forms = routesOf('POST').filter((url) => url.includes(':'));
  expect(forms.length).toBeGreaterThan(20);
  for (const url of forms) {
    for (const id of IDS) {
      const address = url.replace(/:\w+/g, id);
      const { statusCode } = await browser.send(address, {
        _csrf,
        relevant: 'yes',
        stage: 'contacted',
        password: 'x',
      });
      const isRefused = statusCode === 404 || statusCode === 400;
      expect([url, id.slice(0, 70), statusCode, isRefused]).toEqual([url, id.slice(0, 70), statusCode, true]);
    }
  }
});

/** Fields of forms and queries that contain IDs. */
const ID_FIELDS = [
  'id',
  'webhook_id',
  'icp_profile_ids',
  'icp',
  'actor',
  'event',
  'cursor',
  'company_domain',
  'lead',
  'profile',
];

test('no form or query fails for an impossible ID in its fields', async () => {
  for (const id of IDS) {
    const fields = Object.fromEntries(ID_FIELDS.map((name) => [name, decodeURIComponent(id)]));
    const query = new URLSearchParams(fields).toString();
    for (const url of routesOf('GET').filter((url) => !url.includes(':'))) {
      const { statusCode } = await browser.get(`${url}?${query}`.slice(0, 15_000));
      expect([url, id.slice(0, 70), statusCode < 500]).toEqual([url, id.slice(0, 70), true]);
    }
    for (const url of routesOf('POST').filter((url) => !/[:]|logout|sessions/.test(url))) {
      const { statusCode } = await browser.send(url, { _csrf, ...fields });
      expect([url, id.slice(0, 70), statusCode < 500]).toEqual([url, id.slice(0, 70), true]);
    }
  }
  expect(made.logLines.filter((line) => line.includes('"level":50'))).toEqual([]);
});
