import { afterAll, beforeAll, expect, test } from 'vitest';
import { deliveryHeaders } from '../../../src/model/delivery.ts';
import { EVENT_TYPES } from '../../../src/model/event.ts';
import { keptExamples } from '../../support/api-tour.ts';
import { buildTestApp, type TestApp } from '../../support/app.ts';
import { readDescription } from '../../support/openapi.ts';
import { type CheckSchema, createSchemaCheck } from '../../support/schema-check.ts';

interface Webhook {
  operationId: string;
  parameters: { name: string; in: string }[];
  requestBody: { content: { 'application/json': { schema: object; example?: { event?: string } } } };
}

/** Not produced by anything yet, so there is no real example. */
const NOT_MADE_YET = [
  ...['digest.ready', 'endpoint.failing', 'endpoint.paused', 'endpoint.recovered', 'delivery.dead'],
];

let t: TestApp;
let webhooks: Record<string, { post: Webhook }>;
let check: CheckSchema;
beforeAll(async () => {
  t = await buildTestApp({ env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
  const { document } = await readDescription(t.app);
  webhooks = document.webhooks as typeof webhooks;
  check = createSchemaCheck(document);
});
afterAll(() => t.app.close());

const mediaOf = (event: string) => webhooks[event]?.post.requestBody.content['application/json'];

test('every event that an endpoint can receive is described', () => {
  expect(Object.keys(webhooks)).toEqual([...EVENT_TYPES, 'webhook.test']);
});

test('each webhook declares the headers of a delivery', () => {
  const signatures = { serviceSignature: 'x', standardSignature: '', eventType: 'webhook.test' } as const;
  const sent = Object.keys(deliveryHeaders({ deliveryId: '', attempt: 1, startedAt: 0 }, signatures));
  const expected = sent.filter((name) => name !== 'content-type' && name !== 'user-agent').sort();
  for (const { post } of Object.values(webhooks)) {
    expect(post.parameters.map(({ name }) => name.toLowerCase()).sort()).toEqual(expected);
  }
});

test('a real delivery of each event matches its schema', () => {
  const delivered: Record<string, object> = JSON.parse(keptExamples()).webhooks;
  expect(Object.keys(delivered).sort()).toEqual(
    EVENT_TYPES.filter((type) => !NOT_MADE_YET.includes(type)).sort(),
  );
  for (const [event, body] of Object.entries(delivered)) {
    expect(mediaOf(event)?.example).toEqual(body);
    expect(check(mediaOf(event)?.schema ?? {}, body)).toEqual([]);
  }
});

test('a test delivery matches its schema', async () => {
  const payload = { url: 'https://127.0.0.1:8443/hook' };
  const made = await t.app.inject({ method: 'POST', url: '/v1/webhooks', headers: t.auth, payload });
  const answer = await t.app.inject({ url: `/v1/webhooks/${made.json().data.id}/test`, headers: t.auth });
  expect(check(mediaOf('webhook.test')?.schema ?? {}, JSON.parse(answer.json().data.body))).toEqual([]);
});
