import { lookup as systemLookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createHarness, type HarnessOptions, settle } from './harness.ts';

const HOLES = 100;
const IN_FLIGHT_PER_ENDPOINT = 20;
const MAX_IN_FLIGHT = 4_096;
const HEALTHY = 100;
/** Half the time allowed for the slowest deliveries of a healthy endpoint. */
const SOON_MS = 1_000;

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

/**
 * Lets two thousand requests get stuck (`stuck` of them so far), then sends events to a healthy endpoint.
 */
async function deliverBeside(holes: (n: number) => string, stuck: () => number, options?: HarnessOptions) {
  const harness = await createHarness(options);
  const timersBefore = harness.clock.pending();
  for (let n = 0; n < HOLES; n++) {
    const { id } = await harness.endpoint({ url: holes(n), timeout_seconds: 30 });
    await harness.enqueue(id, 60);
  }
  await harness.dispatcher.start();
  while (stuck() < HOLES * IN_FLIGHT_PER_ENDPOINT) {
    harness.clock.advance(50);
    await settle(5);
  }
  // The interval timer, the next deadline, and the ageing of stalled slots.
  expect(harness.clock.pending() - timersBefore).toBeLessThanOrEqual(4);

  const healthy = await harness.endpoint({ url: receiver.url, rate_limit_per_minute: 1_000 }, 'ten_b');
  await harness.enqueue(healthy.id, HEALTHY, 'ten_b');
  harness.dispatcher.nudge([{ endpointId: healthy.id, tenantId: 'ten_b' }]);
  for (let passed = 0; passed < SOON_MS && receiver.requests.length < HEALTHY; passed += 50) {
    await settle(50);
    harness.clock.advance(50);
  }
  expect(receiver.requests).toHaveLength(HEALTHY);
  expect(stuck()).toBeLessThanOrEqual(MAX_IN_FLIGHT);
  await harness.dispatcher.stop(0);
}

test('a hundred endpoints whose names never resolve do not delay the deliveries of another tenant', async () => {
  let asked = 0;
  const lookup = () => {
    asked++;
    return new Promise<string[]>(() => {});
  };
  const name = (n: number) => `https://hole${n}.example.com/`;
  await deliverBeside(name, () => asked, { network: { lookup } });
});

/** Accepts connections and sends nothing, so that none of them completes TLS. */
async function startHole(): Promise<{ url: string; open: Set<Socket> }> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`, open };
}

test('two thousand connections that are never established delay no deliveries or look-ups', async () => {
  const { url, open } = await startHole();
  await deliverBeside(
    () => url,
    () => open.size,
  );
  expect((await systemLookup('localhost')).address).toBeDefined();
});
