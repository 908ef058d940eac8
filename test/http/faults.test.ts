import { afterEach, beforeEach, expect, test } from 'vitest';
import { suggest } from '../../src/http/suggest.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
});
afterEach(() => t.app.close());

test('every fault of a body is listed at once, each at its place, in plain words', async () => {
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
    { pointer: '/prospect/email', detail: '"email" must be an e-mail address.' },
    {
      pointer: '/a~1b~0c',
      detail: expect.stringMatching(/^"a\/b~c" is not a known member\. Known members: platform, text, /),
    },
  ]);
});

test('an unknown query parameter is refused with the name that was meant', async () => {
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
])('%s is refused: no route ignores a parameter', async (line) => {
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
])('the query %s is refused, naming the parameter', async (query, parameter) => {
  const answer = await t.app.inject({ url: `/v1/signals?${query}`, headers: t.auth });
  expect(answer.json()).toMatchObject({ status: 400, code: 'INVALID_REQUEST', errors: [{ parameter }] });
});

test('only a near name is suggested', () => {
  expect(suggest('limt', ['limit', 'cursor'])).toBe('limit');
  expect(suggest('Limit', ['limit'])).toBe('limit');
  expect(suggest('zzz', ['limit', 'cursor'])).toBeNull();
  expect(suggest('x', ['to', 'icp'])).toBeNull();
});
