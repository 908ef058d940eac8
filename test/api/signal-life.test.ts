import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp({ plan: 'enterprise', env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
});
afterEach(() => t.app.close());

async function call(
  method: 'GET' | 'POST' | 'DELETE' | 'PATCH',
  url: string,
  payload?: object,
  headers: object = t.auth,
) {
  const answer = await t.app.inject({
    method,
    url,
    headers: headers as Record<string, string>,
    ...(payload && { payload }),
  });
  return { status: answer.statusCode, body: answer.body === '' ? null : answer.json() };
}
const read = async (url: string) => (await call('GET', url)).body.data;

/** A post whose author and company are known, with an external id. */
const known = (overrides: object = {}) =>
  aPost({
    external_id: 't3_1',
    prospect: { name: 'Ann Example', email: 'ann@example.com' },
    company: { name: 'Example', domain: 'example.com' },
    ...overrides,
  });
const post = async (payload: object) => (await call('POST', '/v1/signals', payload)).body.data;
const hook = (settings: object = {}) =>
  call('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/', ...settings });

describe('DELETE /v1/signals/{id}', () => {
  test('takes a signal out of lists, search, counts and the figures of its company', async () => {
    const [{ signal_id: id }] = (await post(known())).signals;
    await post(known({ external_id: 't3_2', text: 'Is there any CRM for plumbers? We need one now.' }));
    const before = (await read('/v1/me')).usage.signals;
    const url = `/v1/signals/${id}`;
    expect(await call('DELETE', url)).toEqual({ status: 204, body: null });

    expect((await call('GET', url)).status).toBe(404);
    expect(
      (await read('/v1/signals')).map((signal: { signal_id: string }) => signal.signal_id),
    ).not.toContain(id);
    expect(await read('/v1/signals?q=recommendations')).toEqual([]);
    expect((await read('/v1/me')).usage.signals).toBe(before - 1);
    expect(await read('/v1/companies/example.com')).toMatchObject({
      name: 'Example',
      signal_counts: { last_7_days: 1 },
    });
    expect((await call('DELETE', url)).body).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });

  test('what waits to be delivered of it is discarded, and no body of it is left', async () => {
    await hook();
    const [{ signal_id: id }] = (await post(known())).signals;
    const [waiting] = await read('/v1/deliveries');
    expect(waiting.status).toBe('pending');
    t.changed.length = 0;
    await call('DELETE', `/v1/signals/${id}`);
    expect(t.changed).toEqual([waiting.webhook_id]);
    expect(await read(`/v1/deliveries/${waiting.id}`)).toMatchObject({ status: 'discarded', body: null });
  });

  test('its lead is scored by the signals that are left', async () => {
    const [{ signal_id: id }] = (await post(known())).signals;
    const [other] = (await post(known({ external_id: 't3_2', text: 'A quiet week at the office.' }))).signals;
    const lead = (await call('POST', '/v1/leads', { signal_ids: [id, other.signal_id] })).body.data;
    expect(lead).toMatchObject({ signal_count: 2, classification: 'hot' });
    await call('DELETE', `/v1/signals/${id}`);
    const left = await read(`/v1/leads/${lead.id}`);
    expect(left).toMatchObject({
      signal_count: 1,
      icp_score: other.icp_score,
      classification: other.classification,
    });
    expect(left.signals).toHaveLength(1);
    await call('DELETE', `/v1/signals/${other.signal_id}`);
    expect(await read(`/v1/leads/${lead.id}`)).toMatchObject({
      signal_count: 0,
      icp_score: null,
      signals: [],
    });
  });

  test('the same post sent again makes a new signal', async () => {
    const [{ signal_id: id }] = (await post(known())).signals;
    await call('POST', `/v1/signals/${id}/feedback`, { relevant: true });
    await call('DELETE', `/v1/signals/${id}`);
    const again = await post(known());
    expect(again.status).toBe('created');
    expect(again.signals[0].signal_id).not.toBe(id);
  });

  test('needs the scope to write, and reaches no other tenant', async () => {
    const [{ signal_id: id }] = (await post(known())).signals;
    const reader = await t.addKey({ scopes: ['signals:read'] });
    expect((await call('DELETE', `/v1/signals/${id}`, undefined, reader.auth)).status).toBe(403);
    const { auth } = await t.addTenant();
    expect((await call('DELETE', `/v1/signals/${id}`, undefined, auth)).status).toBe(404);
    expect((await call('GET', `/v1/signals/${id}`)).status).toBe(200);
  });

  test('stands in the audit list', async () => {
    const [{ signal_id: id }] = (await post(known())).signals;
    await call('DELETE', `/v1/signals/${id}`);
    const query = { limit: 5, after: null, actor: null, action: null, from: null, to: null };
    const { rows } = await t.store.pageAudit(t.tenant.id, query);
    expect(rows[0]).toMatchObject({ action: 'signal.delete', subject: id });
  });
});
