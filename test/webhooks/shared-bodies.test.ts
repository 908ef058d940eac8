import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { forgetOld } from '../../src/webhooks/housekeeping.ts';
import { formattedPayload } from '../../src/webhooks/payload.ts';
import { buildWebhookApp, TARGET, type WebhookApp } from '../support/webhooks.ts';

const DAY_MS = 86_400_000;
const NEVER = () => false;

let folder: string;
let t: WebhookApp;
let file: Database.Database;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signalpost-bodies-'));
  t = await buildWebhookApp({ plan: 'enterprise', file: join(folder, 'store.db') });
  file = new Database(join(folder, 'store.db'), { readonly: true });
});
afterEach(async () => {
  file.close();
  await t.app.close();
  rmSync(folder, { recursive: true, force: true });
});

const count = (table: string) => file.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get();
const storedChars = () =>
  file
    .prepare<[], number>(
      'SELECT (SELECT sum(length(body)) FROM delivery_bodies) + (SELECT ifnull(sum(length(text)), 0) FROM body_tails)',
    )
    .pluck()
    .get() ?? 0;

/** A format of about 240 KB. */
const large = (name: string) => ({
  include: ['signal_id' as const, 'excerpt' as const],
  flatten: false,
  custom: Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`${name}_${n}`, name.repeat(8_000)])),
});

async function post(n: number): Promise<string> {
  const platform = { name: 'reddit', post_url: `https://reddit.com/${n}` };
  const text = `Looking for a CRM, budget approved, number ${n}.`;
  const answer = await t.call('POST', '/v1/signals', { platform, text });
  expect(answer.statusCode).toBe(201);
  return answer.json().data.signals[0].signal_id;
}

async function bodies(): Promise<Map<string, (string | null)[]>> {
  const found = new Map<string, (string | null)[]>();
  for (const { id, webhook_id } of (await t.call('GET', '/v1/deliveries?limit=100')).json().data) {
    const body = (await t.store.getDelivery(t.tenant.id, id))?.body ?? null;
    found.set(webhook_id, [...(found.get(webhook_id) ?? []), body]);
  }
  return found;
}

test('forty posts in nine large formats store each format once, and keep every byte', async () => {
  const formats = new Map<string, ReturnType<typeof large>>();
  for (const name of 'abcdefghi') {
    const made = await t.addWebhook({ payload_format: large(name) });
    formats.set(made.id, large(name));
  }
  for (let n = 0; n < 40; n++) await post(n);
  expect(count('deliveries')).toBe(360);
  expect(count('body_tails')).toBe(9);
  expect(storedChars()).toBeLessThan(3_000_000); // it was 86 million

  const signals = (await t.call('GET', '/v1/signals?limit=100')).json().data;
  const found = await bodies();
  for (const [endpointId, format] of formats) {
    const expected = new Set(
      signals.map((signal: Parameters<typeof formattedPayload>[0]) => formattedPayload(signal, format)),
    );
    for (const body of found.get(endpointId) ?? ['none']) expect(expected.has(body)).toBe(true);
  }
});

test('endpoints with identical bytes share one body, which is deleted with its last reference', async () => {
  const first = await t.addWebhook();
  await t.addWebhook();
  await t.addWebhook({ payload_format: { include: ['signal_id'] } });
  await t.addWebhook({ payload_format: { include: ['signal_id'] } });
  await post(1);
  expect([count('deliveries'), count('delivery_bodies')]).toEqual([4, 2]);

  const { id } = (await t.call('GET', `/v1/webhooks/${first.id}/deliveries`)).json().data[0];
  const before = (await t.store.getDelivery(t.tenant.id, id))?.body;
  expect(before).toContain('"excerpt"');
  for (const { id: webhook } of (await t.call('GET', '/v1/webhooks')).json().data) {
    await t.call('DELETE', `/v1/webhooks/${webhook}`);
    t.clock.advance(1);
    if (webhook === first.id) expect((await t.store.getDelivery(t.tenant.id, id))?.body).toBe(before);
  }
  t.clock.advance(31 * DAY_MS);
  await forgetOld(t, NEVER);
  expect([count('deliveries'), count('delivery_bodies')]).toEqual([0, 0]);
});

test('changing a format later does not change existing bodies', async () => {
  const made = await t.addWebhook({ payload_format: { include: ['signal_id'], custom: { team: 'old' } } });
  const first = await post(1);
  await t.call('PATCH', `/v1/webhooks/${made.id}`, {
    payload_format: { include: ['signal_id'], custom: { team: 'new' } },
  });
  const second = await post(2);
  await t.call('PATCH', `/v1/webhooks/${made.id}`, { payload_format: null });
  expect(new Set((await bodies()).get(made.id))).toEqual(
    new Set([`{"signal_id":"${first}","team":"old"}`, `{"signal_id":"${second}","team":"new"}`]),
  );
});

test('the tail of a format is deleted with the last body that uses it', async () => {
  await t.addWebhook({ payload_format: { include: ['signal_id'], custom: { team: 'sales' } } });
  await post(1);
  await forgetOld(t, NEVER);
  expect(count('body_tails')).toBe(1);
  const { id } = (await t.call('GET', '/v1/webhooks')).json().data[0];
  await t.call('DELETE', `/v1/webhooks/${id}`);
  t.clock.advance(31 * DAY_MS);
  await forgetOld(t, NEVER);
  expect([count('delivery_bodies'), count('body_tails')]).toEqual([0, 0]);
});

test('the size limit of a body includes the tail of its format', async () => {
  const custom = Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`k${n}`, 'x'.repeat(8_000)]));
  await t.call('POST', '/v1/webhooks', { url: TARGET, payload_format: { include: ['signal_id'], custom } });
  await post(1);
  expect((await t.call('GET', '/v1/deliveries')).json().data[0].status).toBe('rejected');
});

test('erasing a person changes a shared body and its tail, but not those of others', async () => {
  await t.addWebhook({ payload_format: { include: ['signal_id', 'prospect'], custom: { team: 'sales' } } });
  const platform = { name: 'reddit', post_url: 'https://reddit.com/p' };
  const prospect = { name: 'Dana Quirke', email: 'dana@quirke.example' };
  await t.call('POST', '/v1/signals', { platform, text: 'Looking for a CRM', prospect });
  await t.call('POST', '/v1/signals', {
    platform: { ...platform, post_url: 'https://reddit.com/o' },
    text: 'Ask dana@quirke.example, looking for a CRM',
  });
  const lead = (await t.call('POST', '/v1/leads', { email: prospect.email })).json().data;
  expect((await t.call('DELETE', `/v1/leads/${lead.id}`)).statusCode).toBe(204);
  const texts = file.prepare<[], string>('SELECT body FROM delivery_bodies').pluck().all();
  expect(texts.length).toBeGreaterThan(0);
  expect(texts.join()).not.toMatch(/quirke/i);
  expect(count('body_tails')).toBe(1);
});
