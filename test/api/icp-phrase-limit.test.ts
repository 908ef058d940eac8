import { expect, test } from 'vitest';
import { buildTestApp } from '../support/app.ts';

test('the plan limits the phrases of all profiles together, and a profile over the limit can only shrink', async () => {
  const { app, auth, addTenant } = await buildTestApp();
  const starter = (await addTenant('starter')).auth;
  const phrases = (count: number, kind: string) => Array.from({ length: count }, (_, i) => `${kind} ${i}`);
  const call = (method: 'POST' | 'PATCH', url: string, payload: object, headers = starter) =>
    app.inject({ method, url, headers, payload });
  const full = { name: 'Full', phrases: phrases(200, 'p'), excluded_phrases: phrases(200, 'x') };
  const { id } = (await call('POST', '/v1/icps', full)).json().data;
  const refused = await call('POST', '/v1/icps', { name: 'More', phrases: phrases(101, 'q') });
  expect(refused.statusCode).toBe(403);
  expect(refused.json()).toMatchObject({ code: 'PLAN_REQUIRED', required_plan: 'pro', limit: 500 });
  expect((await call('POST', '/v1/icps', { name: 'More', phrases: phrases(100, 'q') })).statusCode).toBe(201);
  const grown = await call('PATCH', `/v1/icps/${id}`, { competitors: ['Acme'] });
  expect(grown.json()).toMatchObject({ status: 403, code: 'PLAN_REQUIRED' });
  expect((await call('PATCH', `/v1/icps/${id}`, { phrases: phrases(150, 'p') })).statusCode).toBe(200);
  expect((await call('POST', '/v1/icps', { name: 'Pro', phrases: phrases(200, 'q') }, auth)).statusCode).toBe(
    201,
  );
});
