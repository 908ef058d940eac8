import { Webhook } from 'standardwebhooks';
import { afterEach, expect, test } from 'vitest';
import { systemRandom } from '../../src/lib/random.ts';
import { sealHeaders } from '../../src/webhooks/endpoints.ts';
import { generateSecret } from '../../src/webhooks/signature.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createHarness, HARNESS_BOX, TENANT } from './harness.ts';

let receiver: Receiver;
afterEach(() => receiver.close());

test('a delivery has the headers of its endpoint, and its log only their last characters', async () => {
  receiver = await startReceiver();
  const harness = await createHarness();
  const { id } = await harness.endpoint({ url: receiver.url });
  const stored = await harness.store.getEndpoint(TENANT, id);
  if (stored === null) throw new Error('it was made above');
  const own = sealHeaders({ secretBox: HARNESS_BOX }, id, { Authorization: 'Bearer gateway-token' });
  await harness.store.updateEndpoint({ ...stored, ...own }, harness.clock.now());
  const [deliveryId = ''] = await harness.enqueue(id);
  await harness.dispatcher.start();
  await harness.committed(1);

  expect(receiver.requests[0]?.headers.authorization).toBe('Bearer gateway-token');
  const log = await harness.delivery(deliveryId);
  expect(log.attempts[0]?.requestHeaders).toMatchObject({ Authorization: 'oken' });
  expect(JSON.stringify(log)).not.toContain('gateway-token');
  await harness.dispatcher.stop(1_000);
});

test('during a grace period, a delivery can be verified with either secret', async () => {
  receiver = await startReceiver();
  const harness = await createHarness();
  const { id, secret } = await harness.endpoint({ url: receiver.url });
  const stored = await harness.store.getEndpoint(TENANT, id);
  if (stored === null) throw new Error('it was made above');
  const next = generateSecret(systemRandom);
  await harness.store.updateEndpoint(
    {
      ...stored,
      secretBox: HARNESS_BOX.seal(next, id),
      previousSecretBox: stored.secretBox,
      previousSecretUntil: harness.clock.now() + 3_600_000,
    },
    harness.clock.now(),
  );
  await harness.enqueue(id);
  await harness.dispatcher.start();
  await harness.committed(1);

  const [request] = receiver.requests;
  const signatures = String(request?.headers['webhook-signature']).split(' ');
  const sign = (key: string) =>
    new Webhook(key).sign(
      String(request?.headers['webhook-id']),
      new Date(Number(request?.headers['webhook-timestamp']) * 1_000),
      request?.body ?? '',
    );
  expect(signatures).toEqual([sign(next), sign(secret)]);
  await harness.dispatcher.stop(1_000);
});
