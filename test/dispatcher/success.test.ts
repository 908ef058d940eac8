import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it } from 'vitest';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { createHarness } from './harness.ts';

let receiver: Receiver;
afterEach(() => receiver.close());

describe('a delivery', () => {
  it('reaches its receiver with both signatures, and is logged with its response', async () => {
    receiver = await startReceiver(status(201, { 'x-seen': 'yes' }, 'thanks'));
    // The verifying library rejects timestamps far from its own clock.
    const harness = await createHarness({ startAt: Date.now() });
    const { id, secret } = await harness.endpoint({ url: receiver.url });
    const [deliveryId = ''] = await harness.enqueue(id);
    await harness.dispatcher.start();
    await harness.committed(1);

    const [request] = receiver.requests;
    if (request === undefined) throw new Error('nothing came');
    const headers = request.headers as Record<string, string>;
    expect(request.method).toBe('POST');
    expect(headers['user-agent']).toBe('Signalpost-Webhooks/1');
    expect(headers['content-type']).toBe('application/json');
    expect(headers['x-service-attempt']).toBe('1');
    expect(headers['x-event-type']).toBe('signal.detected');
    expect(headers['webhook-id']).toBe(deliveryId);
    expect(headers['x-service-signature']).toBe(
      createHmac('sha256', secret).update(request.body).digest('hex'),
    );
    expect(new Webhook(secret).verify(request.body, headers)).toBeTruthy();

    const log = await harness.delivery(deliveryId);
    expect(log.status).toBe('delivered');
    const [attempt] = log.attempts;
    expect(attempt?.response).toMatchObject({ status: 201, body: 'thanks', headers: { 'x-seen': 'yes' } });
    expect(attempt?.requestHeaders.host).toBe(`127.0.0.1:${receiver.port}`);
    expect(attempt?.error).toBeNull();
    expect(request.body).toBe(log.body?.replace(/}$/, `,"signature":"${attempt?.sent?.bodySignature}"}`));
    await harness.dispatcher.stop(1_000);
  });

  it('is sent immediately once announced, and many share kept-alive connections', async () => {
    receiver = await startReceiver();
    const harness = await createHarness();
    const { id } = await harness.endpoint({ url: receiver.url, rate_limit_per_minute: 1_000 });
    await harness.dispatcher.start();
    await harness.enqueue(id, 200);
    harness.dispatcher.nudge([{ endpointId: id, tenantId: 'ten_a' }]);
    await harness.committed(200);
    expect(new Set(receiver.requests.map((request) => request.headers['webhook-id'])).size).toBe(200);
    expect(receiver.connections).toBeLessThanOrEqual(40);
    expect(receiver.mostAtOnce).toBeLessThanOrEqual(20);
    await harness.dispatcher.stop(1_000);
  });
});
