import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemRandom } from '../../src/lib/random.ts';
import { createSecretBox } from '../../src/lib/secret-box.ts';
import { webhookInputSchema } from '../../src/model/webhook.ts';
import { generateSecret } from '../../src/webhooks/signature.ts';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { createHarness, type Harness, settle, TENANT } from './harness.ts';

let receiver: Receiver;
let harness: Harness;
beforeEach(async () => {
  receiver = await startReceiver(status(500));
  harness = await createHarness();
});
afterEach(async () => {
  await harness.dispatcher.stop(0);
  await receiver.close();
});

/** Gives the endpoint a new secret and a format, as the API does. */
async function change(id: string): Promise<string> {
  const endpoint = await harness.store.getEndpoint(TENANT, id);
  if (endpoint === null) throw new Error('the endpoint is there');
  const secret = generateSecret(systemRandom);
  // Uses the key of the harness.
  const secretBox = createSecretBox(Buffer.alloc(32, 7), systemRandom).seal(secret, id);
  const settings = webhookInputSchema.parse({
    ...endpoint.settings,
    payload_format: { custom: { source: 'signalpost' } },
  });
  await harness.store.updateEndpoint({ ...endpoint, secretBox, settings }, harness.clock.now());
  harness.dispatcher.endpointChanged(id);
  return secret;
}

const signedBy = (secret: string, index: number) =>
  createHmac('sha256', secret)
    .update(receiver.requests[index]?.body ?? '')
    .digest('hex');
const bodyWithoutSignature = (index: number) => {
  const { signature: _, ...rest } = JSON.parse(receiver.requests[index]?.body ?? '{}');
  return rest;
};

test('a retry after changing secret and format signs the original body with the new secret', async () => {
  const { id, secret } = await harness.endpoint({ url: receiver.url });
  const [deliveryId] = await harness.enqueue(id);
  await harness.dispatcher.start();
  await harness.committed(1);
  const next = await change(id);
  harness.clock.advance(1_010);
  await harness.committed(2);

  const [first, second] = receiver.requests;
  expect(first?.headers['x-service-signature']).toBe(signedBy(secret, 0));
  expect(second?.headers['x-service-signature']).toBe(signedBy(next, 1));
  expect(bodyWithoutSignature(1)).toEqual(bodyWithoutSignature(0));
  expect(Object.keys(bodyWithoutSignature(1))).toEqual(['event']);
  expect(second?.body).not.toBe(first?.body);
  expect([first?.headers['webhook-id'], second?.headers['webhook-id']]).toEqual([deliveryId, deliveryId]);
});

test('a replayed delivery keeps its ID and attempt numbers, and gets all its retries again', async () => {
  const { id } = await harness.endpoint({ url: receiver.url, max_retries: 1 });
  const [deliveryId = ''] = await harness.enqueue(id);
  await harness.dispatcher.start();
  await harness.committed(1);
  harness.clock.advance(1_010);
  await harness.committed(2);
  expect((await harness.delivery(deliveryId)).status).toBe('dead');

  await harness.store.replayDelivery(TENANT, deliveryId, harness.clock.now());
  harness.dispatcher.nudge([{ endpointId: id, tenantId: TENANT }]);
  await harness.committed(3);
  expect((await harness.delivery(deliveryId)).status).toBe('retrying');
  await settle();
  harness.clock.advance(1_010);
  await harness.committed(4);
  expect((await harness.delivery(deliveryId)).status).toBe('dead');
  const sent = receiver.requests.map(({ headers }) => [headers['webhook-id'], headers['x-service-attempt']]);
  expect(sent).toEqual(['1', '2', '3', '4'].map((attempt) => [deliveryId, attempt]));
});
