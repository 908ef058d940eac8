import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { COOKIE_CODING } from '../../src/dashboard/cookies.ts';
import { formOf, lines, parseForm, text } from '../../src/dashboard/forms.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { cpuMsOf } from '../support/cpu-time.ts';
import { csrfOf, PASSWORD, signedIn, TestBrowser } from './browser-session.ts';

let made: TestApp;
beforeEach(async () => {
  made = await buildTestApp();
});
afterEach(() => made.app.close());

const KIB = 1024;
const FORM = 'application/x-www-form-urlencoded';

function send(url: string, payload: string, type = FORM, headers: Record<string, string> = {}) {
  return made.app.inject({ method: 'POST', url, payload, headers: { ...headers, 'content-type': type } });
}

test.each(['/login', '/login/code', '/setup', '/reset', '/logout'])(
  'a form of more than 16 KiB to %s is refused before it is parsed',
  async (path) => {
    const answer = await send(`/dashboard${path}`, `email=${'+'.repeat(16 * KIB)}`);
    expect(answer.statusCode).toBe(413);
    expect(answer.body).toContain('larger than 16 KiB');
    const longer = await made.app.inject({
      ...{ method: 'POST', url: `/dashboard${path}`, payload: 'a=' },
      headers: { 'content-type': FORM, 'content-length': String(900 * KIB) },
    });
    expect(longer.statusCode).toBe(413);
  },
);

test('forms for profiles, webhooks, leads, companies and sources may be larger, up to 512 KiB', async () => {
  const browser = await signedIn(made, made.tenant.id);
  const _csrf = csrfOf((await browser.get('/dashboard')).body);
  for (const path of ['/profiles/new', '/settings/integrations/webhooks/new', '/sources/new', '/start']) {
    const kept = await browser.send(`/dashboard${path}`, { _csrf, description: '漢'.repeat(50 * KIB) });
    expect([path, kept.statusCode]).toEqual([path, 400]);
    const long = await browser.send(`/dashboard${path}`, { _csrf, description: 'a'.repeat(129 * KIB) });
    expect([path, long.statusCode]).toEqual([path, 413]);
    expect(long.body).toContain('The form contains more than 131,072 characters.');
    const refused = await browser.send(`/dashboard${path}`, { _csrf, description: 'a'.repeat(512 * KIB) });
    expect([path, refused.statusCode]).toEqual([path, 413]);
  }
  const key = await browser.send('/dashboard/settings/api-keys', { _csrf, name: 'a'.repeat(16 * KIB) });
  expect(key.statusCode).toBe(413);
});

test.each(['/login', '/login/code', '/setup', '/reset', '/logout', '/profiles/new'])(
  'JSON sent to %s is 415, whatever it contains, and is not logged as a server error',
  async (path) => {
    const browser = await signedIn(made, made.tenant.id);
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    for (const body of [
      '{"_csrf":"a","email":[{"toString":1}]}',
      '{"email":{"__proto__":1}}',
      'null',
      '[[[',
      '"',
    ]) {
      for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=a', 'nonsense']) {
        const answer = await send(`/dashboard${path}`, body, type, { cookie });
        expect([type, answer.statusCode]).toEqual([type, 415]);
      }
    }
    expect(made.logLines.filter((line) => line.includes('"level":50'))).toEqual([]);
  },
);

test('a field that is repeated, or has another shape, counts once and causes no failure', async () => {
  const browser = new TestBrowser(made.app);
  const cookies = (page: { body: string }) => csrfOf(page.body);
  const _csrf = cookies(await browser.get('/dashboard/login'));
  const fields = {
    _csrf,
    email: ['a@example.com', 'b'],
    password: ['x', 'y'],
    next: ['/dashboard', '//evil'],
  };
  expect((await browser.send('/dashboard/login', fields)).statusCode).toBe(401);
  for (const name of [
    '__proto__',
    'constructor',
    'email[]',
    'email[toString]',
    'toString',
    'length',
    'hasOwnProperty',
  ]) {
    const answer = await browser.send('/dashboard/login', {
      _csrf,
      [name]: ['sort', 'filter'],
      password: 'x',
    });
    expect([name, answer.statusCode]).toEqual([name, 401]);
    made.clock.advance(900_000);
  }
  const twice = await browser.send('/dashboard/login', { _csrf: [_csrf, _csrf], email: 'a@example.com' });
  expect(twice.statusCode).toBe(403);
  expect(made.logLines.filter((line) => line.includes('"level":50'))).toEqual([]);
});

test('queries of odd shapes are filters that match nothing, and cause no failure', async () => {
  const browser = await signedIn(made, made.tenant.id);
  for (const path of [
    '/signals',
    '/leads',
    '/companies',
    '/campaigns',
    '/webhook-logs',
    '/find',
    '/sources',
    '/pipeline',
  ]) {
    for (const query of [
      '__proto__=a&__proto__=b',
      'q=a&q=b',
      'q[]=a',
      'sort[a]=b',
      'from=x&from=y',
      'cursor=a&cursor=b',
    ]) {
      const { statusCode } = await browser.get(`/dashboard${path}?${query}`);
      expect([path, query, statusCode < 500]).toEqual([path, query, true]);
    }
  }
});

test("the members of an array's prototype are not form fields", () => {
  const body = JSON.parse('{"__proto__":["a","b"],"list":["a",{"toString":1},null,["b"]],"one":{"a":"b"}}');
  const form = formOf({ body } as never);
  expect([text(form, 'sort'), text(form, 'length'), form.list, text(form, 'one')]).toEqual([
    '',
    '',
    ['a'],
    '',
  ]);
});

test('250,000 lines in a text area are cut before the schemas process them', () => {
  const form = { phrases: '-\n'.repeat(250_000) };
  expect(cpuMsOf(() => expect(lines(form, 'phrases')).toHaveLength(1_000))).toBeLessThan(1_000);
});

test('the largest possible forms, whatever they contain, do not block other requests', async () => {
  const browser = await signedIn(made, made.tenant.id);
  const _csrf = csrfOf((await browser.get('/dashboard')).body);
  const marks = `a${'\u0300'.repeat(19 * KIB)}${'\u0334'.repeat(19 * KIB)}`;
  const units = ['-\n', 'a,', 'a=b\n', 'a="\\u00"\n', '"'];
  const texts = units.map((unit) => unit.repeat((120 * KIB) / unit.length)).concat(marks);
  const forms: [path: string, fields: string[]][] = [
    ['/profiles/new', ['name', 'description', 'phrases', 'headcount_ranges', 'muted_sources']],
    ['/start', ['offer', 'domain', 'phrases']],
    ['/sources/new', ['query', 'url', 'tagged', 'name']],
    ['/settings/integrations/webhooks/new', ['url', 'label', 'custom', 'topic']],
  ];
  const slow: string[] = [];
  for (const [path, fields] of forms) {
    for (const [name, value] of fields.flatMap((name) => texts.map((value) => [name, value] as const))) {
      const before = process.threadCpuUsage();
      const { statusCode } = await browser.send(`/dashboard${path}`, { _csrf, [name]: value });
      const { user, system } = process.threadCpuUsage(before);
      if (statusCode !== 400 || user + system > 1_000_000) slow.push(`${path} ${name} ${value.slice(0, 9)}`);
    }
  }
  expect(slow).toEqual([]);
});

test('an aborted upload is not logged as a server error', async () => {
  await made.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = made.app.server.address() as { port: number };
  await new Promise<void>((resolve) => {
    const head = `POST /dashboard/login HTTP/1.1\r\nHost: a\r\nContent-Type: ${FORM}\r\nContent-Length: 9000\r\n\r\nemail=`;
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(head, () => setImmediate(() => socket.destroy())),
    );
    socket.once('close', () => resolve());
  });
  await vi.waitFor(async () => expect(await connections(made)).toBe(0));
  await new Promise((resolve) => setImmediate(resolve));
  expect(made.logLines.filter((line) => line.includes('"level":50'))).toEqual([]);
});

test('a form sent the way browsers do is accepted', async () => {
  await signedIn(made, made.tenant.id);
  const fields = { email: 'owner@example.com', password: PASSWORD };
  expect((await new TestBrowser(made.app).post('/dashboard/login', fields)).statusCode).toBe(303);
});

function connections({ app }: TestApp): Promise<number> {
  return new Promise((resolve, reject) =>
    app.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  );
}

test('a form of a hundred thousand invalid fields is parsed in a few milliseconds', () => {
  const invalid = '%ff&'.repeat(100_000);
  parseForm(invalid);
  expect(cpuMsOf(() => parseForm(invalid))).toBeLessThan(50);
  const fields = Array.from({ length: 100_000 }, (_, i) => `${i.toString(36)}=1`).join('&');
  expect(Object.keys(Object(parseForm(fields)))).toHaveLength(2_000);
});

test.each(['+%', 'a+', '%20', '%00', '"'])(
  'a form of nothing but %s is parsed in a few milliseconds',
  (text) => {
    const body = `a=${text.repeat(Math.floor((512 * KIB) / text.length) - 2)}`;
    parseForm(body);
    expect(cpuMsOf(() => parseForm(body))).toBeLessThan(30);
  },
);

test('values of a form are decoded as browsers encode them, and invalid UTF-8 is replaced', () => {
  const form = 'a=50%25+off%21&a=%C3%A4%F0%9F%99%82&b=%ff%zz%&%3D=é%26';
  expect(parseForm(form)).toEqual({ a: ['50% off!', 'ä🙂'], b: '\ufffd%zz%', '=': 'é&' });
});

test('a head full of invalid cookies takes less than a millisecond, and the session after them is read', async () => {
  const browser = await signedIn(made, made.tenant.id);
  const own = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const many = Array.from({ length: 3_000 }, (_, i) => `${i.toString(36)}=%`).join(';');
  const get = (cookie: string) => made.app.inject({ url: '/dashboard/login', headers: { cookie } });
  expect((await get(`${many};${own}`)).statusCode).toBe(303);
  const { decode } = COOKIE_CODING;
  expect(cpuMsOf(() => Array.from({ length: 3_000 }, () => decode('%')))).toBeLessThan(5);
});
