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

/** A post with a known author and company and an external id. */
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
  test('removes a signal from lists, search, counts and the figures of its company', async () => {
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

  test('discards its pending deliveries and removes their bodies', async () => {
    await hook();
    const [{ signal_id: id }] = (await post(known())).signals;
    const [waiting] = await read('/v1/deliveries');
    expect(waiting.status).toBe('pending');
    t.changed.length = 0;
    await call('DELETE', `/v1/signals/${id}`);
    expect(t.changed).toEqual([waiting.webhook_id]);
    expect(await read(`/v1/deliveries/${waiting.id}`)).toMatchObject({ status: 'discarded', body: null });
  });

  test('rescores its lead by the remaining signals', async () => {
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

  test('lets the same post create a new signal', async () => {
    const [{ signal_id: id }] = (await post(known())).signals;
    await call('POST', `/v1/signals/${id}/feedback`, { relevant: true });
    await call('DELETE', `/v1/signals/${id}`);
    const again = await post(known());
    expect(again.status).toBe('created');
    expect(again.signals[0].signal_id).not.toBe(id);
  });

  test('requires the write scope and reaches no other tenant', async () => {
    const [{ signal_id: id }] = (await post(known())).signals;
    const reader = await t.addKey({ scopes: ['signals:read'] });
    expect((await call('DELETE', `/v1/signals/${id}`, undefined, reader.auth)).status).toBe(403);
    const { auth } = await t.addTenant();
    expect((await call('DELETE', `/v1/signals/${id}`, undefined, auth)).status).toBe(404);
    expect((await call('GET', `/v1/signals/${id}`)).status).toBe(200);
  });

  test('is recorded in the audit list', async () => {
    const [{ signal_id: id }] = (await post(known())).signals;
    await call('DELETE', `/v1/signals/${id}`);
    const query = { limit: 5, after: null, actor: null, action: null, from: null, to: null };
    const { rows } = await t.store.pageAudit(t.tenant.id, query);
    expect(rows[0]).toMatchObject({ action: 'signal.delete', subject: id });
  });
});

const SOLVED = 'We are looking for a new CRM, any recommendations? EDIT: solved, went with Pipedrive.';

describe('GET /v1/signals?external_id=', () => {
  const ids = async (query: string) =>
    (await read(`/v1/signals?${query}`)).map((signal: { signal_id: string }) => signal.signal_id);

  test('finds the signals of one post, in any order and with other filters', async () => {
    const [{ signal_id: id }] = (await post(known())).signals;
    await post(known({ external_id: 't3_10', text: 'Is there any CRM for plumbers? We need one now.' }));
    for (const sort of [
      '',
      '&sort=timestamp',
      '&sort=-icp_score',
      '&order=stored',
      '&q=CRM',
      '&classification=hot',
    ]) {
      expect(await ids(`external_id=t3_1${sort}`)).toEqual([id]);
    }
    for (const none of [
      'external_id=t3_1&classification=cold',
      'external_id=T3_1',
      'external_id=t3',
      'external_id=%27',
    ]) {
      expect(await ids(none)).toEqual([]);
    }
    expect((await call('GET', '/v1/signals?external_id=')).status).toBe(400);
  });

  test('paginates them with bound cursors', async () => {
    for (const name of ['a', 'b', 'c', 'd'])
      await post(known({ platform: { name }, text: `Any CRM for ${name}?` }));
    for (const sort of ['-timestamp', 'timestamp', '-icp_score']) {
      const seen: string[] = [];
      let cursor: string | null = '';
      for (let pages = 0; cursor !== null && pages < 10; pages++) {
        const { body } = await call(
          'GET',
          `/v1/signals?external_id=t3_1&limit=1&sort=${sort}${cursor && `&cursor=${cursor}`}`,
        );
        seen.push(...body.data.map((signal: { signal_id: string }) => signal.signal_id));
        cursor = body.pagination.next_cursor;
        if (cursor !== null) {
          const other = await call(
            'GET',
            `/v1/signals?external_id=t3_2&limit=1&sort=${sort}&cursor=${cursor}`,
          );
          expect(other.body.code).toBe('INVALID_CURSOR');
        }
      }
      expect(seen).toHaveLength(4);
      expect(new Set(seen).size).toBe(4);
      expect(seen).toEqual(await ids(`external_id=t3_1&sort=${sort}`));
    }
  });
});

describe('a post that is sent again with another text', () => {
  test('is rescored under its existing id, once', async () => {
    const first = await post(known());
    const [{ signal_id: id, timestamp }] = first.signals;
    expect(first).not.toHaveProperty('updated');
    expect(first.signals[0].classification).toBe('hot');
    await call('POST', `/v1/signals/${id}/feedback`, { relevant: true });
    t.clock.advance(60_000);

    const edited = await call('POST', '/v1/signals', known({ text: SOLVED }));
    expect(edited).toMatchObject({ status: 200, body: { data: { status: 'duplicate', updated: true } } });
    const [signal] = edited.body.data.signals;
    expect(signal).toMatchObject({ signal_id: id, timestamp, external_id: 't3_1', classification: 'cold' });
    expect(signal.excerpt).toContain('solved');
    expect(await read(`/v1/signals/${id}`)).toMatchObject({ ...signal, text: SOLVED });
    expect(await read('/v1/signals')).toEqual([signal]);
    expect(await t.store.getFeedback(t.tenant.id, id)).toMatchObject({ relevant: true });

    const again = await post(known({ text: SOLVED }));
    expect(again).toMatchObject({ status: 'duplicate', signals: [signal] });
    expect(again).not.toHaveProperty('updated');
  });

  test('is found by its new text, class and score, and no longer by the old ones', async () => {
    await post(known());
    await post(known({ text: SOLVED }));
    const found = async (query: string) => (await read(`/v1/signals?${query}`)).length;
    expect(await found('q=Pipedrive')).toBe(1);
    expect(await found('q=budget')).toBe(0);
    expect(await found('classification=cold')).toBe(1);
    expect(await found('classification=hot')).toBe(0);
    expect(await found('min_score=70')).toBe(0);
    expect(await found('sort=-icp_score')).toBe(1);
    const copy = await post(
      aPost({
        platform: { name: 'mirror' },
        text: SOLVED,
        prospect: { name: 'Ann Example', email: 'ann@example.com' },
      }),
    );
    expect(copy.status).toBe('duplicate');
  });

  test('moves to the end of order=stored', async () => {
    const [{ signal_id: id }] = (await post(known())).signals;
    await post(known({ external_id: 't3_2', text: 'Is there any CRM for plumbers? We need one now.' }));
    const { body } = await call('GET', '/v1/signals?order=stored');
    const since = `/v1/signals?order=stored&cursor=${body.pagination.next_cursor}`;
    expect((await call('GET', since)).body.data).toEqual([]);
    await post(known({ text: SOLVED }));
    expect((await call('GET', since)).body.data).toMatchObject([{ signal_id: id, classification: 'cold' }]);
    expect((await read('/v1/signals?order=stored')).at(-1).signal_id).toBe(id);
  });

  test('is not delivered again, and becoming hot fires one event', async () => {
    await hook({ event_types: ['signal.detected', 'signal.new_hot'] });
    const events = async () =>
      (await read('/v1/deliveries')).map(({ event }: { event: string }) => event).toSorted();
    const quiet = 'A quiet week at the office.';
    const [{ signal_id: id }] = (await post(known({ text: quiet }))).signals;
    expect(await events()).toEqual(['signal.detected']);
    t.nudged.length = 0;
    const hot = await post(known());
    expect(hot).toMatchObject({ updated: true, signals: [{ signal_id: id, classification: 'hot' }] });
    expect(await events()).toEqual(['signal.detected', 'signal.new_hot']);
    expect(t.nudged).toHaveLength(1);
    const told = (await read('/v1/deliveries')).find(
      (one: { event: string }) => one.event === 'signal.new_hot',
    );
    const { body } = await read(`/v1/deliveries/${told.id}`);
    expect(JSON.parse(body)).toMatchObject({ data: { signal_id: id } });
    await post(known({ text: quiet }));
    await post(known());
    expect(await events()).toEqual(['signal.detected', 'signal.new_hot']);
  });

  test('fires no event if it was hot from the start', async () => {
    await hook({ event_types: ['signal.new_hot'] });
    await post(known());
    await post(known({ text: SOLVED }));
    await post(known());
    expect(await read('/v1/deliveries')).toHaveLength(1);
  });

  test('rescores its lead and keeps it', async () => {
    const [{ signal_id: id }] = (await post(known())).signals;
    const lead = (await call('POST', '/v1/leads', { signal_ids: [id] })).body.data;
    expect(lead.classification).toBe('hot');
    const { signals } = await post(known({ text: SOLVED }));
    expect(signals[0].lead_id).toBe(lead.id);
    expect(await read(`/v1/leads/${lead.id}`)).toMatchObject({
      signal_count: 1,
      classification: 'cold',
      icp_score: signals[0].icp_score,
    });
  });

  test('is rescored for every profile that had a signal of it', async () => {
    await call('POST', '/v1/icps', { name: 'Second', phrases: ['recommendations'] });
    const first = await post(known());
    expect(first.signals).toHaveLength(2);
    const edited = await post(known({ text: SOLVED }));
    expect(edited.updated).toBe(true);
    expect(edited.signals).toHaveLength(2);
    expect(await read('/v1/signals?classification=hot')).toEqual([]);
  });

  test('uses the last text of a post within a batch', async () => {
    const batch = [known(), known({ text: SOLVED }), known({ external_id: 't3_2', text: 'Any good CRM?' })];
    const { body } = await call('POST', '/v1/signals/batch', { signals: batch });
    expect(body.data).toMatchObject({ created: 2, duplicates: 1, rejected: 0 });
    expect(body.data.results[1]).toMatchObject({ status: 'duplicate', updated: true });
    expect(body.data.results[0]).not.toHaveProperty('updated');
    const [{ signal_id: id }] = await read('/v1/signals?external_id=t3_1');
    expect((await read(`/v1/signals/${id}`)).text).toBe(SOLVED);
  });

  test('leaves one complete version after many concurrent edits', async () => {
    const [{ signal_id: id }] = (await post(known())).signals;
    const texts = Array.from(
      { length: 8 },
      (_, n) => `Version ${n}: which CRM do you recommend? We buy this month.`,
    );
    await Promise.all(texts.map((text) => post(known({ text }))));
    const stored = await read(`/v1/signals/${id}`);
    expect(texts).toContain(stored.text);
    expect(stored.excerpt).toBe(stored.text);
    expect(await read('/v1/signals')).toHaveLength(1);
  });

  test('is stored once under an Idempotency-Key, and its response is replayed', async () => {
    await post(known());
    const headers = { ...t.auth, 'idempotency-key': 'edit-1' };
    const first = await call('POST', '/v1/signals', known({ text: SOLVED }), headers);
    const second = await call('POST', '/v1/signals', known({ text: SOLVED }), headers);
    expect(second).toEqual(first);
    expect(first.body.data.updated).toBe(true);
  });

  test('does not bring back an erased or deleted signal', async () => {
    const [{ signal_id: id }] = (await post(known())).signals;
    const lead = (await call('POST', '/v1/leads', { signal_ids: [id] })).body.data;
    await call('DELETE', `/v1/leads/${lead.id}`);
    const edited = await post(known({ text: SOLVED }));
    expect(edited).toMatchObject({ status: 'created' });
    expect(await read(`/v1/signals/${id}`)).toMatchObject({ text: '', prospect: { name: '' } });
  });
});
