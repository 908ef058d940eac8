import { parse } from 'csv-parse/sync';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { csvLine } from '../../src/dashboard/exports.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { memberSignedIn, signedIn, TestBrowser } from './browser-session.ts';

let made: TestApp;
let browser: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp();
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

async function call(url: string, payload: object, auth = made.auth) {
  const answer = await made.app.inject({ method: 'POST', url, headers: auth, payload });
  expect([url, answer.statusCode < 300 ? 'made' : answer.body]).toEqual([url, 'made']);
  return answer.json().data;
}

async function rowsOf(path: string): Promise<Record<string, string>[]> {
  const { body, statusCode } = await browser.get(`/dashboard/${path}`);
  expect(statusCode).toBe(200);
  return parse(body, { bom: true, columns: true });
}

async function linesOf(path: string): Promise<unknown[]> {
  const { body } = await browser.get(`/dashboard/${path}`);
  return body
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

async function manyLeads(count: number): Promise<void> {
  for (let from = 0; from < count; from += 100) {
    const leads = Array.from({ length: Math.min(100, count - from) }, (_, i) => ({
      email: `p${from + i}@acme.com`,
      tags: [(from + i) % 2 === 0 ? 'even' : 'odd'],
    }));
    await call('/v1/leads/batch', { leads });
  }
}

test('all leads are exported regardless of the page size, with the filters of their list', async () => {
  await manyLeads(230);
  const { auth } = await made.addTenant();
  await call('/v1/leads', { email: 'foreign@other.com' }, auth);
  const all = await rowsOf('leads.csv');
  expect(new Set(all.map(({ email }) => email)).size).toBe(230);
  expect(all.filter(({ email }) => email === 'foreign@other.com')).toEqual([]);
  expect(all[0]?.url).toBe(`https://signals.example.com/dashboard/leads/${all[0]?.id}`);
  const even = await linesOf('leads.ndjson?tag=even&sort=created_at');
  expect(even).toHaveLength(115);
  const listed = await made.app.inject({ url: '/v1/leads?tag=even&sort=created_at', headers: made.auth });
  expect(even.slice(0, 25)).toEqual(listed.json().data);
});

test.each(['csv', 'ndjson'])('long leads are exported to %s a few at a time', async (format) => {
  const custom_fields = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`f${n}`, 'x'.repeat(500)]));
  const leads = Array.from({ length: 20 }, (_, n) => ({ email: `p${n}@acme.com`, custom_fields }));
  await call('/v1/leads/batch', { leads });
  const { body } = await browser.get(`/dashboard/leads.${format}`);
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const url = `/dashboard/leads.${format}`;
  const streamed = await made.app.inject({ url, headers: { cookie }, payloadAsStream: true });
  const parts: string[] = await streamed.stream().setEncoding('utf8').toArray();
  expect(parts.join('')).toBe(body);
  expect(Math.max(...parts.map((part) => part.length))).toBeLessThan(150_000);
  expect(parts.length).toBeGreaterThanOrEqual(4);
});

test('the list links to its own export, including filters', async () => {
  await manyLeads(2);
  await call('/v1/signals', aPost());
  const { body } = await browser.get('/dashboard/leads?tag=even&stage=new&stage=won&done=saved');
  const [, address = ''] = /href="(\/dashboard\/leads\.csv[^"]*)"/.exec(body) ?? [];
  expect(await rowsOf(address.replace('/dashboard/', '').replaceAll('&amp;', '&'))).toHaveLength(1);
  expect((await browser.get('/dashboard/signals?state=all')).body).toContain(
    '<a href="/dashboard/signals.csv?state=all">CSV</a>',
  );
  const { headers } = await browser.get('/dashboard/leads.csv');
  expect(headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
  expect(headers['content-disposition']).toMatch(/^attachment; filename="leads-\d{4}-\d\d-\d\d\.csv"$/);
  expect((await browser.get('/dashboard/leads.ndjson')).headers['content-type']).toBe(
    'application/x-ndjson; charset=utf-8',
  );
});

test('signals are exported as listed: hot and warm by default, with headline and reason', async () => {
  const { signals } = await call('/v1/signals', aPost({ external_id: 'hot' }));
  await call('/v1/signals', aPost({ external_id: 'cold', text: 'Nice weather on site today, lads.' }));
  const [row, ...rest] = await rowsOf('signals.csv');
  expect(rest).toEqual([]);
  expect(row?.signal_id).toBe(signals[0].signal_id);
  expect(row?.reason).toMatch(/^[A-Z].{10}/);
  expect(row?.excerpt).toBe(signals[0].excerpt);
  expect(await rowsOf('signals.csv?state=all')).toHaveLength(2);
  expect(await rowsOf('signals.csv?state=done')).toEqual([]);
  const listed = await made.app.inject({ url: '/v1/signals', headers: made.auth });
  expect(await linesOf('signals.ndjson?state=all')).toEqual(listed.json().data);
  expect((await browser.get('/dashboard/signals.ndjson?state=snoozed')).body).toBe('');
});

test('text written by others cannot become a formula, a separate line or a control character', async () => {
  const name = '=HYPERLINK("https://evil.example","x")';
  const notes = '+1 "quoted", and\r\na second line\u0007 with a bell';
  const { id } = await call('/v1/leads', { email: 'ann@acme.com', name });
  const path = `/v1/leads/${id}`;
  await made.app.inject({ method: 'PATCH', url: path, headers: made.auth, payload: { notes } });
  const { body } = await browser.get('/dashboard/leads.csv');
  expect(body.startsWith('\uFEFFid,lead,name,')).toBe(true);
  expect(body.split('\r\n')).toHaveLength(3); // header, row, empty
  const [row] = await rowsOf('leads.csv');
  expect(row?.name).toBe(`'${name}`);
  expect(row?.notes).toMatch(/^'\+1 "quoted", and\na second line/);
  expect(body).not.toMatch(/[^\P{Cc}\r\n]/u);
  expect(await linesOf('leads.ndjson')).toMatchObject([{ name, notes: expect.stringContaining('second') }]);
});

test.each([
  ['-1', "'-1\r\n"],
  ['@cmd', "'@cmd\r\n"],
  ['\t=1', "' =1\r\n"],
  [' ＝1', "' ＝1\r\n"],
  ['\u200b=1', "'\u200b=1\r\n"],
  ['a;b', '"a;b"\r\n'],
  ['a\rb', '"a\nb"\r\n'],
  ['say "x"', '"say ""x"""\r\n'],
  ['plain', 'plain\r\n'],
  ['', '\r\n'],
])('the cell %j is written as %j', (cell, line) => {
  expect(csvLine([cell])).toBe(line);
});

test('an export with an invalid filter is refused, and so is one without a session', async () => {
  const { statusCode, body } = await browser.get('/dashboard/leads.csv?stage=purple');
  expect(statusCode).toBe(400);
  expect(body).toContain('Nothing was exported');
  expect((await new TestBrowser(made.app).get('/dashboard/leads.csv')).statusCode).toBe(303);
  const reader = await memberSignedIn(made, { email: 'dana@example.com', role: 'reader' });
  expect((await reader.get('/dashboard/leads.csv')).statusCode).toBe(200);
});

test('an account has eight exports in progress, until they are read or their client disconnects', async () => {
  const held = Promise.withResolvers<void>();
  const t = await buildTestApp({
    wrapStore: (store) => ({
      ...store,
      async listLeads(...args) {
        await held.promise;
        return store.listLeads(...args);
      },
    }),
  });
  onTestFinished(() => t.app.close());
  const own = await signedIn(t, t.tenant.id);
  const base = await t.app.listen({ port: 0, host: '127.0.0.1' });
  const cookie = [...own.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const gone = new AbortController();
  const begin = (n: number) =>
    fetch(`${base}/dashboard/leads.${n % 2 === 0 ? 'csv' : 'ndjson'}`, {
      headers: { cookie },
      signal: gone.signal,
    });
  const unread = Array.from({ length: 8 }, (_, n) => begin(n).catch(() => null));
  await expect.poll(async () => (await own.get('/dashboard/signals.csv')).statusCode).toBe(503);
  const refused = await own.get('/dashboard/leads.csv');
  expect(refused.statusCode).toBe(503);
  expect(refused.headers['retry-after']).toBe('10');
  expect(refused.headers['content-type']).toContain('text/html');
  expect(refused.body).toContain('8 exports of this account are already in progress.');
  const other = await t.addTenant();
  expect((await (await signedIn(t, other.tenant.id)).get('/dashboard/signals.csv')).statusCode).toBe(200);
  gone.abort();
  await Promise.all(unread);
  held.resolve();
  await expect.poll(async () => (await own.get('/dashboard/leads.csv')).statusCode).toBe(200);
  for (let n = 0; n < 9; n++) expect((await own.get('/dashboard/signals.csv')).statusCode).toBe(200);
});
