import { expect, test } from 'vitest';
import { MAX_BODY_BYTES } from '../../src/model/delivery.ts';
import { shapeOf } from '../../src/model/payload-shape.ts';
import { type WebhookInput, webhookInputSchema } from '../../src/model/webhook.ts';
import { signalEvents } from '../../src/webhooks/fan-out.ts';
import { signalPayload } from '../../src/webhooks/payload.ts';
import { SAMPLE_SIGNAL } from '../../src/webhooks/test-delivery.ts';
import { anEndpoint, T0 } from '../support/store.ts';

type Format = Parameters<typeof webhookInputSchema.parse>[0];

function endpoint(id: string, settings: Partial<WebhookInput> | Record<string, unknown> = {}) {
  const input: Format = { url: 'https://receiver.example/', ...settings };
  const { payload_format: format } = webhookInputSchema.parse(input);
  return {
    ...anEndpoint('ten_a', { id, settings: webhookInputSchema.parse(input) }),
    shape: format === null ? null : shapeOf(format),
  };
}

let made = 0;
const route = (...receivers: ReturnType<typeof endpoint>[]) =>
  signalEvents(SAMPLE_SIGNAL, {
    ...{ tenantId: 'ten_a', now: T0, receivers },
    newId: (prefix) => `${prefix}_${made++}`,
  });

const BOTH = ['signal.detected', 'signal.new_hot'];

test('a hot signal creates two events, and any other signal one', async () => {
  expect((await route()).map(({ event }) => event.type)).toEqual(BOTH);
  const cold = await signalEvents(
    { ...SAMPLE_SIGNAL, classification: 'cold' },
    { tenantId: 'ten_a', now: T0, receivers: [], newId: (prefix) => prefix },
  );
  expect(cold.map(({ event }) => event.type)).toEqual(['signal.detected']);
  expect([await route(), cold].map((events) => events.map(({ urgent }) => urgent))).toEqual([
    [true, true],
    [undefined],
  ]);
});

test('each endpoint gets the payload in its own format', async () => {
  const [detected] = await route(
    endpoint('whk_1'),
    endpoint('whk_2', { payload_format: { include: ['signal_id'] } }),
    endpoint('whk_3', { payload_format: { include: ['company'], flatten: true } }),
  );
  expect(detected?.deliveries.map(({ body }) => Object.keys(JSON.parse(body)))).toEqual([
    Object.keys(JSON.parse(signalPayload(SAMPLE_SIGNAL))),
    ['signal_id'],
    ['company_name', 'company_domain', 'company_industry', 'company_headcount', 'company_location'],
  ]);
});

test('an envelope is complete, regardless of the format', async () => {
  const [, hot] = await route(
    endpoint('whk_1', { event_types: BOTH, payload_format: { include: ['excerpt'] } }),
  );
  expect(JSON.parse(hot?.deliveries[0]?.body ?? '')).toEqual({
    event: 'signal.new_hot',
    tenant_id: 'ten_a',
    data: {
      platform: 'reddit',
      score: 'hot',
      lead_name: SAMPLE_SIGNAL.prospect.name,
      signal_text: SAMPLE_SIGNAL.excerpt,
      signal_id: 'sig_sample',
    },
    id: hot?.event.id,
    timestamp: '2026-01-01T00:00:00.000Z',
  });
});

test('a format that makes the body too large is rejected for its endpoint only', async () => {
  const custom = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, 'x'.repeat(8_000)]));
  const [detected] = await route(endpoint('whk_1'), endpoint('whk_2', { payload_format: { custom } }));
  expect(detected?.deliveries.map(({ status }) => status)).toEqual(['pending', 'rejected']);
  const { body = '', tail } = detected?.deliveries[1] ?? {};
  expect(Buffer.byteLength(body + tail?.text)).toBeGreaterThan(MAX_BODY_BYTES);
});

test('a message to a service is sent once per signal, and the second event is skipped with a reason', async () => {
  const slack = { payload_format: { preset: 'slack' as const } };
  const [detected, hot] = await route(
    endpoint('whk_both', { ...slack, event_types: BOTH }),
    endpoint('whk_hot', { ...slack, event_types: ['signal.new_hot'] }),
    endpoint('whk_plain', { event_types: BOTH }),
  );
  const ids = (routed: typeof hot) => routed?.deliveries.map(({ endpointId }) => endpointId);
  expect(ids(detected)).toEqual(['whk_both', 'whk_plain']);
  expect(ids(hot)).toEqual(['whk_hot', 'whk_plain']);
  expect(hot?.skipped).toEqual([{ endpointId: 'whk_both', reason: 'same_message' }]);
});
