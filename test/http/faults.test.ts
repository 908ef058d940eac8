import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { check, suggest } from '../../src/http/faults.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
});
afterEach(() => t.app.close());

test('every fault of a body is reported at once, with its pointer and in plain words', async () => {
  const answer = await t.app.inject({
    method: 'POST',
    url: '/v1/signals',
    headers: t.auth,
    payload: { platform: { nam: 'x' }, text: ' ', prospect: { email: 'x' }, 'a/b~c': 1, signal_type: 'rant' },
  });
  expect(answer.statusCode).toBe(400);
  const { code, errors } = answer.json();
  expect(code).toBe('INVALID_REQUEST');
  expect(errors).toEqual([
    { pointer: '/platform/name', detail: '"name" is required.' },
    {
      pointer: '/platform/nam',
      detail: '"nam" is not a known member. Did you mean "name"? Known members: name, post_url, posted_at.',
    },
    { pointer: '/text', detail: '"text" must not be empty.' },
    { pointer: '/signal_type', detail: expect.stringMatching(/must be one of "intent_post", /) },
    { pointer: '/prospect/email', detail: '"email" must be an email address.' },
    {
      pointer: '/a~1b~0c',
      detail: expect.stringMatching(/^"a\/b~c" is not a known member\. Known members: platform, text, /),
    },
  ]);
});

test('an unknown query parameter is rejected with a suggestion', async () => {
  const answer = await t.app.inject({ url: '/v1/signals?clasification=hot', headers: t.auth });
  expect(answer.statusCode).toBe(400);
  expect(answer.json()).toMatchObject({
    code: 'UNKNOWN_PARAMETER',
    errors: [
      { parameter: 'clasification', detail: expect.stringContaining('Did you mean "classification"?') },
    ],
  });
});

test.each([
  'GET /v1/me?x=1',
  'GET /v1/signals/sig_1?x=1',
  'GET /v1/me?__proto__=1',
  'DELETE /v1/webhooks/whk_1?x=1',
])('%s is rejected: no route ignores unknown parameters', async (line) => {
  const [method, url] = line.split(' ') as ['GET', string];
  expect((await t.app.inject({ method, url, headers: t.auth })).json().code).toBe('UNKNOWN_PARAMETER');
});

test.each([
  ['limit=0', 'limit'],
  ['limit=101', 'limit'],
  ['limit=1&limit=2', 'limit'],
  ['limit=', 'limit'],
  ['min_score=1.5', 'min_score'],
  ['from=yesterday', 'from'],
  ['to=2026-01-01', 'to'],
  ['signal_type=intent_post,rant', 'signal_type'],
  ['sort=random', 'sort'],
  ['include=all', 'include'],
])('the query %s is rejected with the name of the parameter', async (query, parameter) => {
  const answer = await t.app.inject({ url: `/v1/signals?${query}`, headers: t.auth });
  expect(answer.json()).toMatchObject({ status: 400, code: 'INVALID_REQUEST', errors: [{ parameter }] });
});

test('only similar names are suggested', () => {
  expect(suggest('limt', ['limit', 'cursor'])).toBe('limit');
  expect(suggest('Limit', ['limit'])).toBe('limit');
  expect(suggest('zzz', ['limit', 'cursor'])).toBeNull();
  expect(suggest('x', ['to', 'icp'])).toBeNull();
});

test('reports the first twenty faults and their total number', async () => {
  const members = Array.from({ length: 150_000 }, (_, i) => [`u${i.toString(36)}`, 1]);
  // A route for batches, because the body is larger than 1 MiB.
  const url = '/v1/campaigns/cam_1/events';
  const payload = Object.fromEntries(members);
  const answer = await t.app.inject({ method: 'POST', url, headers: t.auth, payload });
  const problem = answer.json();
  expect([answer.statusCode, problem.code, problem.errors.length]).toEqual([400, 'INVALID_REQUEST', 20]);
  expect(problem.errors_total).toBe(150_001);
  expect(problem.detail).toContain('150001 errors');
  expect(answer.body.length).toBeLessThan(10_000);
});

test('of more than 200,000 values, only their number is reported', async () => {
  const payload = Object.fromEntries(Array.from({ length: 250_000 }, (_, i) => [`u${i.toString(36)}`, 1]));
  const url = '/v1/campaigns/cam_1/events';
  const answer = await t.app.inject({ method: 'POST', url, headers: t.auth, payload });
  expect(answer.json()).toMatchObject({
    status: 400,
    errors: [{ pointer: '', detail: expect.stringContaining('has more than 50000 values') }],
  });
});

test('faults beyond the first twenty are only counted', () => {
  const schema = z.strictObject({ text: z.string() });
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`unknown_${i}`, i]));
  const checked = check(schema, many, 'body');
  expect(checked).toMatchObject({ ok: false, total: 10_001, unknownNames: true });
  expect(checked.ok ? [] : checked.faults).toHaveLength(20);
});

test('up to twenty faults are reported without a total', async () => {
  const payload = Object.fromEntries(Array.from({ length: 18 }, (_, i) => [`u${i}`, 1]));
  const answer = await t.app.inject({ method: 'POST', url: '/v1/signals', headers: t.auth, payload });
  expect(answer.json().errors).toHaveLength(20);
  expect(answer.json()).not.toHaveProperty('errors_total');
});

test('a record with too many members is rejected before its members are checked', async () => {
  const custom_fields = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`f${i}`, {}]));
  const payload = { email: 'jane@acme.com', custom_fields };
  const answer = await t.app.inject({ method: 'POST', url: '/v1/leads', headers: t.auth, payload });
  expect(answer.json()).toMatchObject({
    status: 400,
    errors: [{ pointer: '/custom_fields', detail: '"custom_fields" must have at most 100 members.' }],
  });
});

test.each([
  ['POST /v1/webhooks', { url: 'https://example.com/hook', label: 'CRM\nurgent' }, '/label'],
  ['POST /v1/keys', { name: 'one\u0007two', preset: 'read' }, '/name'],
  ['POST /v1/icps', { name: 'a\tb' }, '/name'],
  ['POST /v1/campaigns', { name: 'a\u0085b' }, '/name'],
  ['POST /v1/campaigns', { name: 'a', steps: [{ step: 1, name: 'x\u2028y' }] }, '/steps/0/name'],
  ['POST /v1/sources', { kind: 'hackernews', name: 'a\u001bb', query: 'crm' }, '/name'],
  ['POST /v1/leads', { email: 'jane@acme.com', name: 'Jane\r\nDoe' }, '/name'],
  ['POST /v1/leads', { email: 'jane@acme.com', tags: ['a\u007fb'] }, '/tags/0'],
  [
    'POST /v1/signals',
    { platform: { name: 'x' }, text: 'CRM', prospect: { name: 'J\nD' } },
    '/prospect/name',
  ],
])('%s with a control character in a name is rejected with its pointer', async (line, payload, pointer) => {
  const [method, url] = line.split(' ') as ['POST', string];
  const answer = await t.app.inject({ method, url, headers: t.auth, payload });
  expect([answer.statusCode, answer.json().errors]).toEqual([
    400,
    [
      {
        pointer,
        detail: expect.stringContaining('must not contain line breaks or other control characters'),
      },
    ],
  ]);
});

test.each([2_001, 8_000])('a cursor of %i characters is rejected as invalid', async (length) => {
  const answer = await t.app.inject({ url: `/v1/signals?cursor=${'c'.repeat(length)}`, headers: t.auth });
  expect([answer.statusCode, answer.json().code]).toEqual([400, 'INVALID_CURSOR']);
});
