import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { aRoutedEvent, aSignal } from '../support/store.ts';
import { buildWebhookApp, type WebhookApp } from '../support/webhooks.ts';

let t: WebhookApp;
let webhookId: string;
beforeEach(async () => {
  t = await buildWebhookApp();
  webhookId = (await t.addWebhook()).id;
});
afterEach(() => t.app.close());

const DEAD = { status: 'dead', expiresAt: Date.UTC(2026, 0, 8) } as const;
const statusOf = async (id: string) => (await t.call('GET', `/v1/deliveries/${id}`)).json().data.status;

describe('POST /v1/deliveries/{id}/replay', () => {
  test.each([
    ['dead', DEAD],
    ['discarded', { status: 'discarded' }],
    ['delivered', { status: 'delivered' }],
  ] as const)(
    'makes one that is %s due again under its own id, and nudges the dispatcher',
    async (_, next) => {
      const [id = ''] = await t.addDeliveries(1);
      await t.attempt(id, next);
      t.clock.advance(5_000);
      t.nudged.length = 0;
      const answer = await t.call('POST', `/v1/deliveries/${id}/replay`);
      expect(answer.statusCode).toBe(200);
      expect(answer.json().data).toMatchObject({
        id,
        status: 'pending',
        attempt_count: 1,
        next_attempt_at: '2026-01-01T00:00:05.001Z',
        expires_at: null,
        last_attempt: { started_at: '2026-01-01T00:00:00.001Z' },
      });
      expect(t.nudged).toEqual([{ endpointId: webhookId, tenantId: t.tenant.id }]);
    },
  );

  test('of a paused endpoint is held', async () => {
    const [id = ''] = await t.addDeliveries(1);
    await t.attempt(id, DEAD);
    await t.call('POST', `/v1/webhooks/${webhookId}/pause`);
    const answer = await t.call('POST', `/v1/deliveries/${id}/replay`);
    expect(answer.json().data).toMatchObject({ status: 'held', next_attempt_at: null });
  });

  test('is 409 for an unfinished delivery and 404 for an unknown one', async () => {
    const [id = ''] = await t.addDeliveries(1);
    const waiting = await t.call('POST', `/v1/deliveries/${id}/replay`);
    expect(waiting.json()).toMatchObject({ status: 409, code: 'CONFLICT' });
    expect((await t.call('POST', '/v1/deliveries/dlv_none/replay')).json()).toMatchObject({
      status: 404,
      code: 'NOT_FOUND',
    });
    expect(await statusOf(id)).toBe('pending');
  });

  test('is 409 once the body or the endpoint is gone', async () => {
    const [expired = '', orphan = ''] = await t.addDeliveries(2);
    await t.attempt(expired, { status: 'dead', expiresAt: 1 });
    await t.store.expireDead({ now: t.clock.now(), limit: 10 });
    await t.attempt(orphan, DEAD);
    const gone = await t.call('POST', `/v1/deliveries/${expired}/replay`);
    expect(gone.json()).toMatchObject({
      status: 409,
      detail: expect.stringContaining('payload is no longer stored'),
    });
    await t.call('DELETE', `/v1/webhooks/${webhookId}`);
    const deleted = await t.call('POST', `/v1/deliveries/${orphan}/replay`);
    expect(deleted.json()).toMatchObject({ status: 409, detail: expect.stringContaining('deleted') });
  });
});

describe('POST /v1/webhooks/{id}/replay', () => {
  const replay = (payload?: object) => t.call('POST', `/v1/webhooks/${webhookId}/replay`, payload);

  test('resends all dead letters of the endpoint and returns their number', async () => {
    const other = await t.addWebhook();
    const ids = await t.addDeliveries(3);
    for (const id of ids) await t.attempt(id, DEAD);
    t.nudged.length = 0;
    const answer = await replay({ status: 'dead' });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({ data: { replayed: 3 } });
    expect(t.nudged).toEqual([{ endpointId: webhookId, tenantId: t.tenant.id }]);
    const untouched = (await t.call('GET', `/v1/webhooks/${other.id}/deliveries`)).json().data;
    expect(untouched.map((row: { status: string }) => row.status)).toEqual(['dead', 'dead', 'dead']);
    expect((await replay({ status: 'dead' })).json()).toEqual({ data: { replayed: 0 } });
  });

  test('selects deliveries by time range and final status', async () => {
    const ids = await t.addDeliveries(4);
    for (const [index, id] of ids.entries())
      await t.attempt(id, index === 1 ? { status: 'delivered' } : DEAD);
    const range = { from: '2026-01-01T00:00:00.002Z', to: '2026-01-01T01:00:00.004+01:00' };
    expect((await replay({ ...range, status: 'dead' })).json().data.replayed).toBe(1);
    expect((await replay({ ...range, status: 'delivered' })).json().data.replayed).toBe(1);
    expect(await Promise.all(ids.map(statusOf))).toEqual(['dead', 'pending', 'pending', 'dead']);
  });

  test('without a body resends every dead letter', async () => {
    const [id = ''] = await t.addDeliveries(1);
    await t.attempt(id, DEAD);
    expect((await replay()).json()).toEqual({ data: { replayed: 1 } });
  });

  test('continues across batches and resends each delivery once', async () => {
    const events = 1_203;
    const routed = Array.from({ length: events }, () => aRoutedEvent(t.tenant.id, [webhookId]));
    const profileId = (await t.store.listProfiles(t.tenant.id))[0]?.id ?? '';
    await t.store.commitSignals([aSignal(t.tenant.id, { profileId, events: routed })]);
    for (const { deliveries } of routed) {
      for (const { id } of deliveries) await t.attempt(id, DEAD);
    }
    expect((await replay({ status: 'dead' })).json()).toEqual({ data: { replayed: events } });
    expect((await t.call('GET', '/v1/dead-letters')).json().data).toEqual([]);
  });

  test.each([
    [{ status: 'pending' }, '/status'],
    [{ status: 'rejected' }, '/status'],
    [{ from: 'yesterday' }, '/from'],
    [{ until: '2026-01-01T00:00:00Z' }, '/until'],
  ])('%j is rejected', async (payload, pointer) => {
    expect((await replay(payload)).json()).toMatchObject({ status: 400, errors: [{ pointer }] });
  });

  test('of an unknown endpoint is 404', async () => {
    expect((await t.call('POST', '/v1/webhooks/whk_none/replay', {})).statusCode).toBe(404);
  });
});

describe('POST /v1/webhooks/{id}/replay, by ids or by event', () => {
  const replay = (body: object) => t.call('POST', `/v1/webhooks/${webhookId}/replay`, body);

  test('resends the listed deliveries once each, and skips unfinished and foreign ones', async () => {
    const [dead = '', delivered = '', waiting = ''] = await t.addDeliveries(3);
    await t.attempt(dead, DEAD);
    await t.attempt(delivered, { status: 'delivered' });
    const other = await t.addWebhook();
    await t.addDeliveries(1);
    const foreign = (await t.call('GET', `/v1/webhooks/${other.id}/deliveries`)).json().data[0].id;
    await t.attempt(foreign, { status: 'delivered' });
    t.nudged.length = 0;
    const answer = await replay({ ids: [dead, delivered, dead, waiting, foreign, 'dlv_none'] });
    expect(answer.json().data).toEqual({ replayed: 2 });
    expect(t.nudged).toEqual([{ endpointId: webhookId, tenantId: t.tenant.id }]);
    expect(await Promise.all([dead, delivered, foreign].map(statusOf))).toEqual([
      ...['pending', 'pending', 'delivered'],
    ]);
  });

  test('resends only events of the given types', async () => {
    await t.call('PATCH', `/v1/webhooks/${webhookId}`, {
      event_types: ['signal.detected', 'signal.new_hot'],
    });
    const ids = await t.addDeliveries(2);
    for (const id of ids) await t.attempt(id, DEAD);
    const types = await Promise.all(
      ids.map(async (id) => (await t.call('GET', `/v1/deliveries/${id}`)).json().data.event),
    );
    const hot = types.filter((type) => type === 'signal.new_hot').length;
    expect(hot).toBe(2);
    expect((await replay({ event_types: ['signal.new_hot'] })).json().data).toEqual({ replayed: hot });
    const status = await Promise.all(ids.map(statusOf));
    expect(status).toEqual(types.map((type) => (type === 'signal.new_hot' ? 'pending' : 'dead')));
  });

  test('accepts ids or a range, not both', async () => {
    const answer = await replay({ ids: ['dlv_1'], from: '2026-01-01T00:00:00Z' });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().errors[0].detail).toContain('not both');
  });
});

describe('the filtered delivery log', () => {
  test('selects by event and by subject, within the tenant', async () => {
    await t.call('PATCH', `/v1/webhooks/${webhookId}`, {
      event_types: ['signal.detected', 'signal.new_hot'],
    });
    await t.addDeliveries(2);
    const list = async (query: string, headers = t.auth) =>
      (await t.call('GET', `/v1/deliveries?${query}`, undefined, headers)).json().data;
    const all = await list('');
    const [{ event_id, subject_id }] = all;
    const ofSubject = await list(`subject_id=${subject_id}`);
    expect(ofSubject).toEqual(all.filter((one: typeof all) => one.subject_id === subject_id));
    expect(ofSubject).toHaveLength(2);
    expect(await list(`event_id=${event_id}`)).toEqual([all[0]]);
    expect(await list(`subject_id=${subject_id}&event=signal.detected&status=pending`)).toHaveLength(1);
    expect(await list(`subject_id=${subject_id}&event_id=evt_other`)).toEqual([]);
    const { auth } = await t.addTenant();
    expect(await list(`subject_id=${subject_id}`, auth)).toEqual([]);
    const page = await t.call('GET', `/v1/deliveries?subject_id=${subject_id}&limit=1`);
    const { next_cursor } = page.json().pagination;
    expect(await list(`subject_id=${subject_id}&limit=1&cursor=${next_cursor}`)).toEqual(ofSubject.slice(1));
  });
});
