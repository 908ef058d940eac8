import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { aRoutedEvent, aSignal } from '../support/store.ts';
import { createHarness, type Harness, TENANT } from './harness.ts';
import { RECEIVERS, TEST_CA } from './tls-fixture.ts';

const ROUNDS = 40;
const A_ROUND = 10;

interface Habits {
  head?: Record<string, string>;
  tls?: boolean;
  bodyBytes?: number;
}

/**
 * A receiver that closes a connection shortly after its last response, like a server with a short keep-alive
 * timeout.
 */
async function startImpatientReceiver(idleMs: () => number, { head, tls }: Habits) {
  const timers = new Map<Socket, NodeJS.Timeout>();
  let connections = 0;
  const seen: string[] = [];
  const listener: RequestListener = (request, response) => {
    const { socket } = request;
    clearTimeout(timers.get(socket));
    request.resume().on('end', () => {
      seen.push(String(request.headers['webhook-id']));
      response.writeHead(200, { connection: 'keep-alive', ...head }).end();
    });
    response.on('finish', () => {
      timers.set(
        socket,
        setTimeout(() => socket.end(), idleMs()),
      );
    });
  };
  const server: Server = tls ? createTlsServer(RECEIVERS.valid, listener) : createServer(listener);
  server.keepAliveTimeout = 60_000;
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections++;
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    seen,
    connections: () => connections,
    close: () =>
      new Promise<void>((resolve) => {
        for (const timer of timers.values()) clearTimeout(timer);
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

let harness: Harness;
beforeEach(async () => {
  harness = await createHarness({ network: { ca: TEST_CA } });
});
afterEach(() => harness.dispatcher.stop(0));

async function enqueue(endpointId: string, bodyBytes: number): Promise<void> {
  const events = Array.from({ length: A_ROUND }, () => aRoutedEvent(TENANT, [endpointId]));
  for (const { event, deliveries } of events)
    for (const delivery of deliveries)
      delivery.body = JSON.stringify({ id: event.id, text: 'x'.repeat(bodyBytes) });
  await harness.store.commitSignals([aSignal(TENANT, { events })]);
}

test.each<[string, Habits]>([
  ['without a word', {}],
  ['though it promised five seconds', { head: { 'keep-alive': 'timeout=5' } }],
  ['and says so', { head: { 'keep-alive': 'timeout=1' } }],
  ['over TLS', { tls: true }],
  ['in the middle of a large request', { bodyBytes: 200_000 }],
])('a receiver that closes idle connections %s causes no failed attempts', async (_, habits) => {
  let idle = 0;
  const receiver = await startImpatientReceiver(() => idle, habits);
  const { id } = await harness.endpoint({ url: receiver.url, rate_limit_per_minute: 10_000 });
  await harness.dispatcher.start();
  for (let round = 1; round <= ROUNDS; round++) {
    // Immediately or a few milliseconds later: before, during and after writing the next requests.
    idle = (round * 3) % 8;
    await enqueue(id, habits.bodyBytes ?? 100);
    await new Promise((resolve) => setTimeout(resolve, (round * 5) % 9));
    harness.dispatcher.nudge([{ endpointId: id, tenantId: TENANT }]);
    await harness.committed(round * A_ROUND);
  }
  const faults = harness.outcomes.flatMap(({ attempt }) => attempt.error ?? []);
  expect(faults).toEqual([]);
  expect(new Set(receiver.seen).size).toBe(ROUNDS * A_ROUND);
  expect(receiver.connections()).toBeGreaterThan(20); // connections were closed in between
  expect((await harness.store.getEndpoint(TENANT, id))?.consecutiveFailures).toBe(0);
  await receiver.close();
});
