import { afterEach, describe, expect, it } from 'vitest';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { createHarness } from './harness.ts';
import { TEST_TLS } from './tls-fixture.ts';

let receiver: Receiver;
afterEach(() => receiver.close());

/** What became of one delivery to `url`. */
async function deliverTo(url: string, trusted = true) {
  const harness = await createHarness(trusted ? { network: { ca: TEST_TLS.cert } } : {});
  const { id } = await harness.endpoint({ url });
  const [deliveryId = ''] = await harness.enqueue(id);
  await harness.dispatcher.start();
  await harness.committed(1);
  await harness.dispatcher.stop(0);
  return harness.delivery(deliveryId);
}

describe('a delivery over TLS', () => {
  it('goes out under TLS 1.3 to a receiver with a valid certificate', async () => {
    receiver = await startReceiver(status(200), TEST_TLS);
    const log = await deliverTo(receiver.url);
    expect(log.status).toBe('delivered');
    expect(log.attempts[0]?.timings.connectedMs).toBeGreaterThanOrEqual(0);
  });

  it('is refused to a certificate that nobody vouches for', async () => {
    receiver = await startReceiver(status(200), TEST_TLS);
    const log = await deliverTo(receiver.url, false);
    expect(log.attempts[0]?.error?.code).toBe('tls');
    expect(receiver.requests).toHaveLength(0);
  });

  it('is refused to a receiver that offers no more than TLS 1.2', async () => {
    receiver = await startReceiver(status(200), { ...TEST_TLS, maxVersion: 'TLSv1.2' });
    const log = await deliverTo(receiver.url);
    expect(log.attempts[0]?.error?.code).toBe('tls');
  });
});
