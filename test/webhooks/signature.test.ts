import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { systemRandom } from '../../src/lib/random.ts';
import { deliveryHeaders, toBodyBytes } from '../../src/model/delivery.ts';
import {
  createSigner,
  generateSecret,
  SIGNATURE_MEMBER_BYTES,
  withSignature,
} from '../../src/webhooks/signature.ts';

const secret = generateSecret(systemRandom);
const now = Math.floor(Date.now() / 1000);
const body = '{"signal_id":"sig_1","excerpt":"Grüße 😀 \\"quoted\\""}';
const sealed = createSigner(secret).seal({ id: 'dlv_1', ...toBodyBytes(body) }, now);
const key = { deliveryId: 'dlv_1', attempt: 3, startedAt: now * 1_000 + 999 };
const headers = deliveryHeaders(key, sealed);

test('a secret is whsec_ followed by 32 bytes in base64', () => {
  expect(Buffer.from(secret.replace(/^whsec_/, ''), 'base64')).toHaveLength(32);
});

test('the header signs the exact bytes that are sent, with the secret as shown', () => {
  const expected = createHmac('sha256', secret).update(sealed.body).digest('hex');
  expect(headers['x-service-signature']).toBe(expected);
});

test('the last member of the body signs the body without that member', () => {
  const text = sealed.body.toString('utf8');
  const stripped = text.replace(/,"signature":"[0-9a-f]{64}"\}$/, '}');
  expect(stripped).toBe(body);
  expect(JSON.parse(text).signature).toBe(createHmac('sha256', secret).update(stripped).digest('hex'));
  expect(Object.keys(JSON.parse(text)).at(-1)).toBe('signature');
});

test('the Standard Webhooks library verifies the same request unchanged', () => {
  expect(new Webhook(secret).verify(sealed.body.toString('utf8'), headers)).toEqual(
    JSON.parse(sealed.body.toString()),
  );
});

test('while the previous secret is valid, its signature follows that of the new one', () => {
  const before = generateSecret(systemRandom);
  const signer = createSigner(secret, { secret: before, untilMs: now * 1_000 + 1_000 });
  const during = signer.seal({ id: 'dlv_1', ...toBodyBytes(body) }, now);
  const old = createSigner(before).seal({ id: 'dlv_1', ...toBodyBytes(body) }, now);
  expect(during.standardSignature.split(' ')[0]).toBe(
    new Webhook(secret).sign('dlv_1', new Date(now * 1_000), during.body.toString('utf8')),
  );
  const both = deliveryHeaders(key, during);
  for (const each of [secret, before]) {
    expect(new Webhook(each).verify(during.body.toString('utf8'), both)).toBeTruthy();
  }
  expect(during.body.equals(sealed.body)).toBe(true); // the other signatures use the new secret only
  expect(during.serviceSignature).not.toBe(old.serviceSignature);
  const after = signer.seal({ id: 'dlv_1', ...toBodyBytes(body) }, now + 1);
  expect(after.standardSignature).not.toContain(' ');
});

test('rejects a request with any byte changed', () => {
  const changed = sealed.body.toString('utf8').replace('sig_1', 'sig_2');
  expect(() => new Webhook(secret).verify(changed, headers)).toThrow();
});

test('sends the attempt number and the delivery ID', () => {
  expect(headers).toMatchObject({
    'x-service-attempt': '3',
    'webhook-id': 'dlv_1',
    'webhook-timestamp': String(now),
  });
});

test('the size limit includes the bytes of the signature member', () => {
  expect(sealed.body.length - Buffer.byteLength(body)).toBe(SIGNATURE_MEMBER_BYTES);
});

test("the signature equals that of Node's own HMAC for any body and secret", () => {
  const json = fc.jsonValue().map((value) => JSON.stringify({ value }));
  const bodies = fc.oneof(json, fc.constant('{}'), fc.constant(`{"long":"${'é'.repeat(200_000)}"}`));
  const secrets = fc.oneof(
    fc
      .uint8Array({ minLength: 0, maxLength: 100 })
      .map((bytes) => `whsec_${Buffer.from(bytes).toString('base64')}`),
    fc.constant(secret),
  );
  fc.assert(
    fc.property(bodies, secrets, fc.nat(), (text, key, seconds) => {
      const signed = createSigner(key).seal({ id: 'dlv_1', ...toBodyBytes(text) }, seconds);
      const hmac = (data: string | Buffer) => createHmac('sha256', key).update(data).digest('hex');
      expect(signed.bodySignature).toBe(hmac(text));
      expect(signed.body.toString('utf8')).toBe(withSignature(text, signed.bodySignature));
      expect(signed.serviceSignature).toBe(hmac(signed.body));
      const standard = createHmac('sha256', Buffer.from(key.slice(6), 'base64'));
      const expected = standard.update(`dlv_1.${seconds}.`).update(signed.body).digest('base64');
      expect(signed.standardSignature).toBe(`v1,${expected}`);
    }),
  );
});
