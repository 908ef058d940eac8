import { afterEach, beforeEach, expect, test } from 'vitest';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
let id: string;
beforeEach(async () => {
  t = await buildTestApp();
  const answer = await t.app.inject({
    method: 'POST',
    url: '/v1/signals',
    headers: t.auth,
    payload: aPost(),
  });
  id = answer.json().data.signals[0].signal_id;
});
afterEach(() => t.app.close());

function say(payload: object, signal = id, headers: Record<string, string> = t.auth) {
  return t.app.inject({ method: 'POST', url: `/v1/signals/${signal}/feedback`, headers, payload });
}

test('feedback is stored, and the latest one counts', async () => {
  const first = await say({ relevant: true, reason: ' Called us back ' });
  expect(first.statusCode).toBe(200);
  const created = '2026-01-01T00:00:00.000Z';
  expect(first.json()).toEqual({
    data: { signal_id: id, relevant: true, reason: 'Called us back', created_at: created },
  });
  t.clock.advance(1_000);
  expect((await say({ relevant: false })).json().data).toMatchObject({ relevant: false, reason: '' });
  const stored = await t.store.getFeedback(t.tenant.id, id);
  expect(stored).toMatchObject({ relevant: false, reason: '', createdAt: Date.parse(created) + 1_000 });
});

test('the signal itself is unchanged', async () => {
  const get = async () => (await t.app.inject({ url: `/v1/signals/${id}`, headers: t.auth })).json();
  const before = await get();
  await say({ relevant: false });
  expect(await get()).toEqual(before);
});

test.each<[object, string]>([
  [{}, '/relevant'],
  [{ relevant: 'yes' }, '/relevant'],
  [{ relevant: true, reason: 'x'.repeat(1_001) }, '/reason'],
  [{ relevant: true, note: 'x' }, '/note'],
])('%j is rejected with its pointer', async (payload, pointer) => {
  const answer = await say(payload);
  expect(answer.json()).toMatchObject({ status: 400, code: 'INVALID_REQUEST', errors: [{ pointer }] });
});

test('an unknown signal or one of another tenant is 404', async () => {
  const { auth } = await t.addTenant();
  expect((await say({ relevant: true }, 'sig_unknown')).json().code).toBe('NOT_FOUND');
  expect((await say({ relevant: true }, id, auth)).json().code).toBe('NOT_FOUND');
  expect(await t.store.getFeedback(t.tenant.id, id)).toBeNull();
});

test('giving feedback requires more than signals:read', async () => {
  const { auth } = await t.addKey({ scopes: ['signals:read'] });
  expect((await say({ relevant: true }, id, auth)).json()).toMatchObject({
    code: 'INSUFFICIENT_SCOPE',
    required_scope: 'signals:write',
  });
});
