import type { TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { createHarness } from './harness.ts';
import { RECEIVERS, TEST_CA } from './tls-fixture.ts';

let receiver: Receiver;
afterEach(() => {
  vi.unstubAllEnvs();
  return receiver.close();
});

/** The attempt of one delivery, by a dispatcher that trusts the test authority, or not. */
async function deliver(ca: string | null = TEST_CA) {
  const harness = await createHarness(ca === null ? {} : { network: { ca } });
  const { id } = await harness.endpoint({ url: receiver.url });
  const [deliveryId = ''] = await harness.enqueue(id);
  await harness.dispatcher.start();
  await harness.committed(1);
  await harness.dispatcher.stop(0);
  const endpoint = await harness.store.getEndpoint('ten_a', id);
  return { log: await harness.delivery(deliveryId), failures: endpoint?.consecutiveFailures };
}

describe('a delivery over TLS', () => {
  it('uses TLS 1.3 and requires a chain to a trusted root', async () => {
    receiver = await startReceiver(status(200), RECEIVERS.valid);
    let protocol: string | null = null;
    receiver.answer = (response, _, socket) => {
      protocol = (socket as TLSSocket).getProtocol();
      response.end();
    };
    const { log, failures } = await deliver();
    expect([log.status, protocol, failures]).toEqual(['delivered', 'TLSv1.3', 0]);
    expect(log.attempts[0]?.timings.connectedMs).toBeGreaterThanOrEqual(0);
  });

  it.each([
    ['of an authority that is not trusted', RECEIVERS.valid, null],
    ['that is signed by nobody but itself', RECEIVERS.selfSigned, TEST_CA],
    ['that comes without the authority between it and the root', RECEIVERS.withoutChain, TEST_CA],
    ['that has expired', RECEIVERS.expired, TEST_CA],
    ['that is not valid yet', RECEIVERS.notYetValid, TEST_CA],
    ['of another name', RECEIVERS.wrongName, TEST_CA],
  ])('is not sent to a receiver with a certificate %s, and counts as a failure', async (_, tls, ca) => {
    receiver = await startReceiver(status(200), tls);
    const { log, failures } = await deliver(ca);
    expect([log.status, log.attempts[0]?.error?.code, failures]).toEqual(['retrying', 'tls', 1]);
    expect(receiver.requests).toHaveLength(0);
  });

  it('is verified regardless of the environment', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    receiver = await startReceiver(status(200), RECEIVERS.selfSigned);
    const { log } = await deliver();
    expect(log.attempts[0]?.error?.code).toBe('tls');
    expect(receiver.requests).toHaveLength(0);
  });

  it('is refused if the receiver only supports TLS 1.2', async () => {
    receiver = await startReceiver(status(200), { ...RECEIVERS.valid, maxVersion: 'TLSv1.2' });
    const { log } = await deliver();
    expect(log.attempts[0]?.error?.code).toBe('tls');
    expect(receiver.requests).toHaveLength(0);
  });
});
