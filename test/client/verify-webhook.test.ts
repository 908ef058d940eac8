import { expect, test } from 'vitest';
import { verifyWebhook, WebhookVerificationError } from '../../src/client/client.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { deliveryHeaders, toBodyBytes } from '../../src/model/delivery.ts';
import { createSigner, generateSecret } from '../../src/webhooks/signature.ts';

const secret = generateSecret(systemRandom);
const NOW = 1_700_000_000_000;
const seconds = NOW / 1_000;
const sealed = createSigner(secret).seal(
  { id: 'dlv_1', ...toBodyBytes('{"signal_id":"sig_1","excerpt":"Grüße 😀"}') },
  seconds,
);
const key = { deliveryId: 'dlv_1', attempt: 1, startedAt: NOW };
const headers = deliveryHeaders(key, { ...sealed, eventType: 'signal.detected' });
const body = sealed.body.toString('utf8');
const genuine = { headers, body, secret, now: NOW };

test('a genuine delivery yields its ID, type and payload, however the framework represents headers and body', () => {
  const expected = { id: 'dlv_1', type: 'signal.detected', payload: JSON.parse(body) };
  const upper = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
  );
  for (const each of [headers, upper, new Headers(headers)]) {
    expect(verifyWebhook({ ...genuine, headers: each })).toEqual(expected);
  }
  expect(verifyWebhook({ ...genuine, body: sealed.body })).toEqual(expected);
});

test('either of two secrets is accepted, on either side, during a rotation', () => {
  const next = generateSecret(systemRandom);
  expect(verifyWebhook({ ...genuine, secret: [next, secret] }).id).toBe('dlv_1');
  const both = createSigner(next, { secret, untilMs: NOW + 1_000 }).seal(
    { id: 'dlv_1', ...toBodyBytes('{}') },
    seconds,
  );
  const during = { headers: deliveryHeaders(key, both), body: both.body, now: NOW };
  expect(verifyWebhook({ ...during, secret }).payload).toHaveProperty('signature');
  expect(verifyWebhook({ ...during, secret: next }).payload).toHaveProperty('signature');
});

test.each([
  ['a changed body', { body: body.replace('sig_1', 'sig_2') }],
  ['another id', { headers: { ...headers, 'webhook-id': 'dlv_2' } }],
  ['another secret', { secret: generateSecret(systemRandom) }],
  ['no secret', { secret: [] }],
  ['no signature', { headers: { ...headers, 'webhook-signature': '' } }],
  ['no timestamp', { headers: { ...headers, 'webhook-timestamp': '' } }],
  ['one that is older than five minutes', { now: NOW + 301_000 }],
  ['one that is from the future', { now: NOW - 301_000 }],
])('%s is refused', (_, change) => {
  expect(() => verifyWebhook({ ...genuine, ...change })).toThrow(WebhookVerificationError);
});
