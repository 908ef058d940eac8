import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { toBodyBytes } from '../../src/model/delivery.ts';
import { FEED_MS } from '../../src/model/event-resource.ts';
import { createSigner } from '../../src/webhooks/signature.ts';
import { buildWebhookApp, TARGET, type WebhookApp } from '../support/webhooks.ts';

let t: WebhookApp;
/** Called when a request starts to wait. */
let onWait: () => void = () => undefined;
beforeEach(async () => {
  t = await buildWebhookApp({
    wrapStore: (store) => ({
      ...store,
      untilStored(...args) {
        onWait();
        return store.untilStored(...args);
      },
    }),
  });
});
afterEach(() => t.app.close());

const addPull = async (settings: object = {}) => {
  const answer = await t.call('POST', '/v1/webhooks', { mode: 'pull', ...settings });
  if (answer.statusCode !== 201) throw new Error(answer.body);
  return answer.json().data;
};
const read = (id: string, query = '') => t.call('GET', `/v1/webhooks/${id}/feed${query}`);
const idsOf = (answer: Awaited<ReturnType<typeof read>>): string[] =>
  answer.json().data.map((event: { id: string }) => event.id);
const nextOf = (answer: Awaited<ReturnType<typeof read>>): string => answer.json().pagination.next_cursor;

describe('an endpoint with mode "pull"', () => {
  test('has a secret but no URL, and its deliveries are delivered as soon as they are stored', async () => {
    const made = await addPull();
    expect(made).toMatchObject({ mode: 'pull', url: null, status: 'active' });
    expect(made.secret).toMatch(/^whsec_/);
    const [id = ''] = await t.addDeliveries(1);
    const delivery = (await t.call('GET', `/v1/deliveries/${id}`)).json().data;
    expect(delivery).toMatchObject({ status: 'delivered', attempt_count: 0, next_attempt_at: null });
    expect(t.nudged).toEqual([]);
    expect(await t.store.listDueLanes()).toEqual([]);
  });

  test('accepts no URL, while mode "push" requires one', async () => {
    const both = await t.call('POST', '/v1/webhooks', { mode: 'pull', url: TARGET });
    const neither = await t.call('POST', '/v1/webhooks', {});
    const { id } = await addPull();
    const later = await t.call('PATCH', `/v1/webhooks/${id}`, { url: TARGET });
    for (const answer of [both, neither, later]) {
      expect(answer.statusCode).toBe(400);
      expect(answer.json().errors).toMatchObject([{ pointer: '/url' }]);
    }
    expect((await t.call('PATCH', `/v1/webhooks/${id}`, { min_score: 10 })).statusCode).toBe(200);
    expect((await t.call('PATCH', `/v1/webhooks/${id}`, { mode: 'push' })).statusCode).toBe(400);
  });

  test('cannot be paused, tested or replayed, because nothing is called', async () => {
    const { id } = await addPull();
    const [delivery = ''] = await t.addDeliveries(1);
    const refused = [`webhooks/${id}/pause`, `webhooks/${id}/replay`, `deliveries/${delivery}/replay`];
    for (const path of refused) {
      const answer = await t.call('POST', `/v1/${path}`);
      expect([path, answer.statusCode, answer.json().code]).toEqual([path, 409, 'CONFLICT']);
    }
  });
});

describe('the feed of an endpoint', () => {
  test.each(['push', 'pull'])(
    'in mode %s has the payloads to send, byte for byte, in order',
    async (mode) => {
      const { id, secret } = mode === 'pull' ? await addPull() : await t.addWebhook();
      const deliveries = await t.addDeliveries(3);
      const answer = await read(id);
      expect(answer.statusCode).toBe(200);
      expect(idsOf(answer)).toEqual(deliveries);
      expect(answer.json()).toMatchObject({ pagination: { has_more: false }, truncated: false });
      const signer = createSigner(secret);
      for (const event of answer.json().data) {
        const { body, created_at } = (await t.call('GET', `/v1/deliveries/${event.id}`)).json().data;
        const sent = signer.seal({ id: event.id, ...toBodyBytes(body) }, 0).body.toString('utf8');
        expect(answer.body).toContain(`"timestamp":"${created_at}","payload":${sent}}`);
        expect(event.type).toBe('signal.detected');
      }
    },
  );

  test('continues from its cursor, which is on every page, even an empty one', async () => {
    const { id } = await addPull();
    const none = await read(id);
    expect(idsOf(none)).toEqual([]);
    const deliveries = await t.addDeliveries(3);
    const first = await read(id, `?limit=2&cursor=${nextOf(none)}`);
    expect(idsOf(first)).toEqual(deliveries.slice(0, 2));
    expect(first.json().pagination).toMatchObject({ has_more: true, limit: 2 });
    expect(first.headers.link).toContain('rel="next"');
    const last = await read(id, `?cursor=${nextOf(first)}`);
    expect(idsOf(last)).toEqual(deliveries.slice(2));
    const now = await read(id, '?cursor=now');
    const [, , , fourth] = await t.addDeliveries(1);
    expect(idsOf(await read(id, `?cursor=${nextOf(last)}`))).toEqual([fourth]);
    expect(idsOf(await read(id, `?cursor=${nextOf(now)}`))).toEqual([fourth]);
  });

  test('contains only events that pass the filters of its endpoint', async () => {
    const picky = await addPull({ min_score: 100 });
    const other = await addPull();
    await t.addDeliveries(2);
    expect(idsOf(await read(picky.id))).toEqual([]);
    expect(idsOf(await read(other.id))).toHaveLength(2);
  });

  test('with wait is held until there is something', async () => {
    const { id } = await addPull();
    const cursor = nextOf(await read(id));
    const waits = new Promise<void>((resolve) => {
      onWait = resolve;
    });
    const held = read(id, `?wait=20&cursor=${cursor}`);
    await waits;
    const deliveries = await t.addDeliveries(1);
    expect(idsOf(await held)).toEqual(deliveries);
  });

  test('reports a cursor older than 7 days as truncated if it skipped events, and starts with the oldest', async () => {
    const { id } = await addPull();
    const [first = '', second = ''] = await t.addDeliveries(2);
    const one = await read(id, '?limit=1');
    expect(idsOf(one)).toEqual([first]);
    const both = await read(id);
    t.clock.advance(FEED_MS + 1_000);
    const [, , third = ''] = await t.addDeliveries(1);
    const late = await read(id, `?cursor=${nextOf(one)}`);
    expect(late.json().truncated).toBe(true);
    expect(idsOf(late)).toEqual([third]);
    expect(idsOf(late)).not.toContain(second);
    // Nothing was skipped after this cursor, however old, nor without a cursor.
    expect((await read(id, `?cursor=${nextOf(both)}`)).json().truncated).toBe(false);
    expect((await read(id)).json()).toMatchObject({ truncated: false, data: [{ id: third }] });
  });

  test('rejects the cursor of another endpoint, and is 404 for another tenant', async () => {
    const { id } = await addPull();
    const other = await addPull();
    const cursor = nextOf(await read(id));
    const answer = await read(other.id, `?cursor=${cursor}`);
    expect(answer.json().code).toBe('INVALID_CURSOR');
    const { auth } = await t.addTenant();
    const foreign = await t.call('GET', `/v1/webhooks/${id}/feed`, undefined, auth);
    expect(foreign.statusCode).toBe(404);
  });

  test('skips payloads that are too large to send', async () => {
    const custom = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`key_${i}`, 'x'.repeat(8_000)]));
    const enterprise = await buildWebhookApp({ plan: 'enterprise' });
    const made = await enterprise.call('POST', '/v1/webhooks', { mode: 'pull', payload_format: { custom } });
    expect(made.statusCode).toBe(201);
    await enterprise.addDeliveries(1);
    const answer = await enterprise.call('GET', `/v1/webhooks/${made.json().data.id}/feed`);
    expect(answer.json().data).toEqual([]);
    await enterprise.app.close();
  });

  test('has at most 1 MiB of payloads per page and continues after them', async () => {
    const custom = Object.fromEntries(Array.from({ length: 28 }, (_, i) => [`key_${i}`, 'x'.repeat(8_000)]));
    const enterprise = await buildWebhookApp({ plan: 'enterprise' });
    const made = await enterprise.call('POST', '/v1/webhooks', { mode: 'pull', payload_format: { custom } });
    const { id } = made.json().data;
    const deliveries = await enterprise.addDeliveries(7);
    const seen: string[] = [];
    let cursor = '';
    for (let page = 0; page < 3; page++) {
      const answer = await enterprise.call('GET', `/v1/webhooks/${id}/feed?${cursor}`);
      expect(Buffer.byteLength(answer.body)).toBeLessThan(1_200_000);
      seen.push(...idsOf(answer));
      cursor = `cursor=${nextOf(answer)}`;
    }
    expect(seen).toEqual(deliveries);
    await enterprise.app.close();
  });
});
