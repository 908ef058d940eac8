import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  const deprecation = {
    method: 'GET',
    path: '/v1/signals/:id',
    deprecatedAt: Date.UTC(2026, 0, 1),
    sunsetAt: Date.UTC(2027, 0, 1),
    successor: '/v1/signals',
  };
  t = await buildTestApp({ deprecations: [deprecation] });
});
afterEach(() => t.app.close());

test('only deprecated operations are marked as deprecated in the description', async () => {
  const { paths } = (await t.app.inject('/v1/openapi.json')).json();
  const { get } = paths['/v1/signals/{id}'];
  expect(get.deprecated).toBe(true);
  expect(get.description).toContain('goes on Fri, 01 Jan 2027 00:00:00 GMT. Use /v1/signals instead.');
  expect(Object.keys(get.responses['200'].headers)).toEqual(
    expect.arrayContaining(['Deprecation', 'Sunset']),
  );
  expect(paths['/v1/signals'].get).not.toHaveProperty('deprecated');
});

test('all responses of a deprecated operation say so, including errors', async () => {
  const marks = {
    deprecation: 'true',
    sunset: 'Fri, 01 Jan 2027 00:00:00 GMT',
    link: '<https://signals.example.com/v1/signals>; rel="successor-version"',
  };
  const refused = await t.app.inject('/v1/signals/sig_1');
  const missing = await t.app.inject({ url: '/v1/signals/sig_1', headers: t.auth });
  expect([refused.statusCode, missing.statusCode]).toEqual([401, 404]);
  expect(refused.headers).toMatchObject(marks);
  expect(missing.headers).toMatchObject(marks);
});
