import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp({ plan: 'enterprise', env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
});
afterEach(() => t.app.close());

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

async function send(
  method: Method,
  url: string,
  { body, ...headers }: { body?: object; [header: string]: unknown } = {},
) {
  const answer = await t.app.inject({
    method,
    url,
    headers: { ...t.auth, ...(headers as Record<string, string>) },
    ...(body && { payload: body }),
  });
  const { statusCode: status, headers: had } = answer;
  return { status, etag: String(had.etag), headers: had, body: answer.body, json: () => answer.json() };
}

/** Versioned resources: the body that creates one, and two changes of it. */
const RESOURCES = {
  icps: [
    { name: 'HVAC', phrases: ['scheduling'] },
    { description: 'first', phrases: ['dispatch'] },
    { description: 'second' },
  ],
  webhooks: [{ url: 'http://127.0.0.1:9/' }, { label: 'first' }, { label: 'second' }],
  campaigns: [{ name: 'Autumn' }, { description: 'first' }, { status: 'active' }],
  leads: [{ email: 'ann@example.com', name: 'Ann Example' }, { title: 'CEO' }, { tags: ['second'] }],
  sources: [{ kind: 'hackernews', name: 'HN', query: 'crm' }, { name: 'first' }, { active: false }],
} satisfies Record<string, [object, object, object]>;

describe.each(Object.entries(RESOURCES))('/v1/%s', (kind, [input, first, second]) => {
  const make = async () => {
    const made = await send('POST', `/v1/${kind}`, { body: input });
    expect(made.status, made.body).toBe(201);
    return { url: `/v1/${kind}/${made.json().data.id}`, etag: made.etag };
  };

  test('responses to create, read and update have a strong ETag', async () => {
    const { url, etag } = await make();
    expect(etag).toMatch(/^"[\w.-]+"$/);
    expect((await send('GET', url)).etag).toBe(etag);
    expect((await send('HEAD', url)).etag).toBe(etag);
    const changed = await send('PATCH', url, { body: first });
    expect(changed.status, changed.body).toBe(200);
    expect(changed.etag).not.toBe(etag);
    expect((await send('GET', url)).etag).toBe(changed.etag);
    expect((await send('GET', `/v1/${kind}`)).headers.etag).toBeUndefined();
  });

  test('If-None-Match returns 304 without a body until the resource changes', async () => {
    const { url, etag } = await make();
    for (const condition of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      for (const method of ['GET', 'HEAD'] as const) {
        const known = await send(method, url, { 'if-none-match': condition });
        expect(known).toMatchObject({ status: 304, etag, body: '' });
      }
    }
    for (const condition of ['"other"', etag.slice(1, -1), 'W/', '']) {
      expect((await send('GET', url, { 'if-none-match': condition })).status).toBe(200);
    }
    await send('PATCH', url, { body: first });
    expect((await send('GET', url, { 'if-none-match': etag })).status).toBe(200);
  });

  test('If-Match accepts a change based on the current version only', async () => {
    const { url, etag } = await make();
    const changed = await send('PATCH', url, { body: first, 'if-match': etag });
    expect(changed.status, changed.body).toBe(200);
    const stale = await send('PATCH', url, { body: second, 'if-match': etag });
    expect(stale.json()).toMatchObject({ status: 412, code: 'PRECONDITION_FAILED' });
    expect(stale.headers['content-type']).toBe('application/problem+json');
    expect((await send('GET', url)).etag).toBe(changed.etag);
    expect((await send('PATCH', url, { body: second, 'if-match': `"x", ${changed.etag}` })).status).toBe(200);
    expect((await send('PATCH', url, { body: first, 'if-match': '*' })).status).toBe(200);
    expect((await send('PATCH', url, { body: second })).status).toBe(200);
  });

  test.each(['"zzz"', 'zzz', '', '"', 'W/"zzz"', '*, "zzz"', '"zzz', ','])(
    'an If-Match of %j is 412 and changes nothing',
    async (condition) => {
      const { url, etag } = await make();
      for (const method of ['PATCH', 'DELETE'] as const) {
        if (method === 'DELETE' && kind === 'campaigns') continue;
        const body = method === 'PATCH' ? { body: first } : {};
        const refused = await send(method, url, { ...body, 'if-match': condition });
        expect(refused.json()).toMatchObject({ status: 412, code: 'PRECONDITION_FAILED' });
      }
      expect((await send('GET', url)).etag).toBe(etag);
      expect((await send('PATCH', url, { body: first, 'if-match': `W/${etag}` })).status).toBe(412);
    },
  );

  test('the ETag of another resource does not match', async () => {
    const { url } = await make();
    const other = await send('POST', '/v1/icps', { body: { name: 'Other' } });
    expect((await send('PATCH', url, { body: first, 'if-match': other.etag })).status).toBe(412);
    expect((await send('PATCH', `${url}x`, { body: first, 'if-match': other.etag })).status).toBe(404);
  });

  test('of ten concurrent changes under one ETag one succeeds', async () => {
    const { url, etag } = await make();
    const tries = Array.from({ length: 10 }, () => send('PATCH', url, { body: first, 'if-match': etag }));
    const statuses = (await Promise.all(tries)).map(({ status }) => status).toSorted();
    expect(statuses).toEqual([200, ...Array(9).fill(412)]);
  });

  // Campaigns are completed, never deleted.
  if (kind !== 'campaigns')
    test('DELETE with If-Match deletes only the version that was read', async () => {
      const { url, etag } = await make();
      const { etag: present } = await send('PATCH', url, { body: first });
      expect((await send('DELETE', url, { 'if-match': etag })).status).toBe(412);
      expect((await send('DELETE', url, { 'if-match': present })).status).toBe(204);
      expect((await send('DELETE', url, { 'if-match': '*' })).status).toBe(404);
    });
});

test('changes of stage and deal are checked against the ETag of the lead', async () => {
  const made = await send('POST', '/v1/leads', { body: { email: 'ann@example.com' } });
  const { id } = made.json().data;
  const stage = `/v1/pipeline/${id}/stage`;
  const moved = await send('PUT', stage, { body: { stage: 'contacted' }, 'if-match': made.etag });
  expect(moved.status).toBe(200);
  expect((await send('GET', `/v1/leads/${id}`)).etag).toBe(moved.etag);
  expect((await send('PUT', stage, { body: { stage: 'won' }, 'if-match': made.etag })).status).toBe(412);
  const body = { amount_minor: 100, currency: 'EUR', status: 'open', close_date: null };
  const deal = `/v1/pipeline/${id}/deal`;
  expect((await send('PUT', deal, { body, 'if-match': made.etag })).status).toBe(412);
  const valued = await send('PUT', deal, { body, 'if-match': moved.etag });
  expect(valued.status).toBe(200);
  expect((await send('GET', `/v1/leads/${id}`)).etag).toBe(valued.etag);
});

test('a change between check and commit causes 412, and the update is not retried', async () => {
  await t.app.close();
  let between: (() => Promise<unknown>) | null = null;
  t = await buildTestApp({
    wrapStore: (store) => ({
      ...store,
      async changeProfile(profile, limit) {
        const meanwhile = between;
        between = null;
        await meanwhile?.();
        return store.changeProfile(profile, limit);
      },
    }),
  });
  const made = await send('POST', '/v1/icps', { body: { name: 'HVAC' } });
  const url = `/v1/icps/${made.json().data.id}`;
  between = () => send('PATCH', url, { body: { phrases: ['theirs'] } });
  const mine = { body: { description: 'mine' }, 'if-match': made.etag };
  expect((await send('PATCH', url, mine)).status).toBe(412);
  expect((await send('GET', url)).json().data).toMatchObject({ description: '', phrases: ['theirs'] });
});

test('each content coding has its own ETag, and each of them is a valid condition', async () => {
  const phrases = Array.from({ length: 100 }, (_, index) => `a phrase of number ${index}`);
  const made = await send('POST', '/v1/icps', { body: { name: 'HVAC', phrases } });
  const url = `/v1/icps/${made.json().data.id}`;
  for (const coding of ['br', 'gzip']) {
    const coded = await send('GET', url, { 'accept-encoding': coding });
    expect(coded.headers['content-encoding']).toBe(coding);
    expect(coded.etag).toBe(`${made.etag.slice(0, -1)}-${coding}"`);
    const again = await send('GET', url, { 'accept-encoding': coding, 'if-none-match': coded.etag });
    expect(again).toMatchObject({ status: 304, etag: coded.etag, headers: { vary: 'Accept-Encoding' } });
    expect((await send('PATCH', url, { body: {}, 'if-match': coded.etag })).status).toBe(200);
    made.etag = (await send('GET', url)).etag;
  }
});

test('a change made by the server changes the ETag but does not fail If-Match', async () => {
  const made = await send('POST', '/v1/sources', { body: RESOURCES.sources[0] });
  const { id } = made.json().data;
  const url = `/v1/sources/${id}`;
  t.clock.advance(60_000);
  expect((await send('POST', `${url}/run`)).etag).not.toBe(made.etag);
  expect((await send('GET', url, { 'if-none-match': made.etag })).status).toBe(200);
  expect((await send('PATCH', url, { body: { name: 'HN 2' }, 'if-match': made.etag })).status).toBe(200);
});

test('a newly created secret is not part of the ETag', async () => {
  const made = await send('POST', '/v1/webhooks', { body: RESOURCES.webhooks[0] });
  const url = `/v1/webhooks/${made.json().data.id}`;
  expect((await send('GET', url)).etag).toBe(made.etag);
  const renewed = await send('POST', `${url}/secret`);
  expect(renewed.etag).not.toBe(made.etag);
  expect((await send('GET', url)).etag).toBe(renewed.etag);
});

test('If-Match on a resource without an ETag is rejected, not ignored', async () => {
  const body = { timezone: 'Europe/Berlin' };
  const refused = await send('PATCH', '/v1/settings', { body, 'if-match': '"a"' });
  expect(refused.json()).toMatchObject({ status: 412, code: 'PRECONDITION_FAILED' });
  expect((await send('PATCH', '/v1/settings', { body, 'if-match': '*' })).status).toBe(200);
});
