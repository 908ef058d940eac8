import { afterEach, beforeEach, expect, test } from 'vitest';
import { webhookResourceSchema } from '../../src/model/webhook.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp({ env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
});
afterEach(() => t.app.close());

function create(payload: object = { url: 'http://127.0.0.1:9/hook' }, headers = t.auth) {
  return t.app.inject({ method: 'POST', url: '/v1/webhooks', headers, payload });
}

function get(url: string, headers = t.auth) {
  return t.app.inject({ url, headers });
}

test('the full secret is in the response that creates the endpoint, and nowhere later', async () => {
  const made = await create();
  expect(made.statusCode).toBe(201);
  const { secret, ...resource } = made.json().data;
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(webhookResourceSchema.parse(resource)).toEqual(resource);
  expect(made.headers.location).toBe(`https://signals.example.com/v1/webhooks/${resource.id}`);

  const one = await get(`/v1/webhooks/${resource.id}`);
  expect(one.json()).toEqual({ data: resource });
  const list = await get('/v1/webhooks');
  expect(list.json().data).toEqual([resource]);
  expect(one.body + list.body).not.toContain(secret);
});

test('invalid settings are rejected with their pointers', async () => {
  const answer = await create({ url: 'http://10.0.0.1/', max_retries: 11, backof: 'fixed' });
  expect(answer.statusCode).toBe(400);
  const pointers = answer.json().errors.map((e: { pointer: string }) => e.pointer);
  expect(pointers).toEqual(['/max_retries', '/backof']);
});

test('a target that is not public is rejected', async () => {
  const answer = await create({ url: 'https://10.0.0.1/hook' });
  expect(answer.json()).toMatchObject({
    status: 400,
    code: 'INVALID_REQUEST',
    errors: [{ pointer: '/url' }],
  });
});

test('an endpoint over the limit requires a larger plan, which is named', async () => {
  await t.app.close();
  t = await buildTestApp({ plan: 'starter', env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
  expect((await create()).statusCode).toBe(201);
  const answer = await create();
  expect(answer.statusCode).toBe(403);
  expect(answer.json()).toMatchObject({ code: 'PLAN_REQUIRED', required_plan: 'pro' });
});

test('the list is paginated', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) {
    t.clock.advance(1);
    ids.push((await create()).json().data.id);
  }
  const seen: string[] = [];
  let cursor = '';
  do {
    const { data, pagination } = (await get(`/v1/webhooks?limit=2${cursor}`)).json();
    seen.push(...data.map((row: { id: string }) => row.id));
    cursor = pagination.next_cursor === null ? '' : `&cursor=${pagination.next_cursor}`;
    expect(pagination.has_more).toBe(cursor !== '');
  } while (cursor !== '');
  expect(seen).toEqual(ids);
});

test('a deleted endpoint is gone', async () => {
  const { id } = (await create()).json().data;
  const remove = () => t.app.inject({ method: 'DELETE', url: `/v1/webhooks/${id}`, headers: t.auth });
  const answer = await remove();
  expect(answer.statusCode).toBe(204);
  expect(answer.body).toBe('');
  expect((await remove()).statusCode).toBe(404);
  expect((await get(`/v1/webhooks/${id}`)).statusCode).toBe(404);
});

test("another tenant's endpoint is 404 to read and to delete", async () => {
  const { id } = (await create()).json().data;
  const { auth } = await t.addTenant();
  expect((await get(`/v1/webhooks/${id}`, auth)).json().code).toBe('NOT_FOUND');
  const removed = await t.app.inject({ method: 'DELETE', url: `/v1/webhooks/${id}`, headers: auth });
  expect(removed.statusCode).toBe(404);
  expect((await get(`/v1/webhooks/${id}`)).statusCode).toBe(200);
});

test.each([
  'http://127.0.0.1:4000/',
  'http://localhost:4000/',
  'http://receiver.example.com/',
  'https://[::1]/',
])('with loopback disallowed, %s is rejected with the command that allows it', async (url) => {
  const closed = await buildTestApp();
  const payload = { url };
  const headers = closed.auth;
  const answer = await closed.app.inject({ method: 'POST', url: '/v1/webhooks', headers, payload });
  const elsewhere = { url: 'https://10.0.0.1/' };
  const other = await closed.app.inject({ method: 'POST', url: '/v1/webhooks', headers, payload: elsewhere });
  await closed.app.close();
  expect(answer.json()).toMatchObject({ status: 400, errors: [{ pointer: '/url' }] });
  expect(answer.json().hint).toContain('"WEBHOOK_ALLOW_TARGETS=127.0.0.0/8,::1/128 npm start"');
  expect(other.json()).not.toHaveProperty('hint');
});
