import { createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkResolvedTarget } from '../../src/webhooks/targets.ts';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { addresses, createHarness, type Harness, settle } from './harness.ts';
import { RECEIVERS, TEST_CA } from './tls-fixture.ts';

/**
 * A substitute for an internet address; all other loopback addresses are private. Nothing else listens there.
 */
const PUBLIC = '127.84.43.1';
const PRIVATE = '127.84.43.2';
const PORT = 8443;
const TARGET = `https://receiver.example.com:${PORT}/hook`;

let answers: string[][] = [];
let asked: string[] = [];
/** Returns each of `answers` once, and then always the last one. */
const lookup = async (name: string) => {
  asked.push(name);
  return (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
};

let receiver: Receiver;
let inside: Server;
let insideConnections = 0;
let harness: Harness;
beforeEach(async () => {
  asked = [];
  insideConnections = 0;
  receiver = await startReceiver(status(200), RECEIVERS.valid, { host: PUBLIC, port: PORT });
  inside = createServer((socket) => {
    insideConnections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => inside.listen(PORT, PRIVATE, resolve));
  harness = await createHarness({ allow: [`${PUBLIC}/32`], network: { lookup, ca: TEST_CA } });
});
afterEach(async () => {
  await harness.dispatcher.stop(0);
  await receiver.close();
  await new Promise((resolve) => inside.close(resolve));
});

/** The attempt of one delivery to the name. */
async function deliver() {
  const { id } = await harness.endpoint({ url: TARGET });
  const [deliveryId = ''] = await harness.enqueue(id);
  await harness.dispatcher.start();
  await harness.committed(1);
  const log = await harness.delivery(deliveryId);
  return { log, attempt: log.attempts[0], id };
}

describe('a name', () => {
  it('that was public when saved and is private later is blocked when connecting', async () => {
    answers = [[PUBLIC], [PRIVATE]];
    expect(await checkResolvedTarget(new URL(TARGET), addresses(`${PUBLIC}/32`), lookup, 'ten_a')).toBeNull();
    const { log, attempt, id } = await deliver();
    expect([log.status, attempt?.error?.code, attempt?.response]).toEqual([
      'retrying',
      'blocked_target',
      null,
    ]);
    expect([insideConnections, receiver.requests.length]).toEqual([0, 0]);
    expect((await harness.store.getEndpoint('ten_a', id))?.consecutiveFailures).toBe(0);
  });

  it('that changes between check and connection is contacted at the checked address', async () => {
    answers = [[PUBLIC], [PRIVATE]];
    const { log } = await deliver();
    expect([log.status, asked]).toEqual(['delivered', ['receiver.example.com']]);
    expect(receiver.requests[0]?.headers.host).toBe(`receiver.example.com:${PORT}`);
    expect(insideConnections).toBe(0);
  });

  it.each([
    [[PUBLIC, PRIVATE]],
    [[PRIVATE, PUBLIC]],
    [[PUBLIC, '10.0.0.1']],
    [[PUBLIC, '::ffff:10.0.0.1']],
    [[PUBLIC, 'fe80::1%eth0']],
    [[PUBLIC, 'nonsense']],
  ])('that resolves to %j is refused entirely', async (mixed) => {
    answers = [mixed];
    const { attempt } = await deliver();
    expect(attempt?.error?.code).toBe('blocked_target');
    expect([insideConnections, receiver.connections]).toEqual([0, 0]);
  });

  it('is resolved and checked again for every new connection', async () => {
    answers = [[PUBLIC], [PUBLIC], [PRIVATE]];
    const { id } = await deliver();
    for (const done of [2, 3]) {
      receiver.cut();
      await settle(5);
      await harness.enqueue(id);
      harness.dispatcher.nudge([{ endpointId: id, tenantId: 'ten_a' }]);
      await harness.committed(done);
    }
    expect(harness.outcomes.map(({ attempt }) => attempt.error?.code ?? 'delivered')).toEqual([
      'delivered',
      'delivered',
      'blocked_target',
    ]);
    expect(insideConnections).toBe(0);
  });
});

describe('what a blocked attempt reveals', () => {
  it('is the same whether something listens at the private address, nothing does, or the host does not exist', async () => {
    const told: unknown[] = [];
    for (const address of [PRIVATE, '127.84.43.3', '10.255.255.1', '169.254.169.254', '::1', 'fd00::1']) {
      answers = [[address]];
      const { id } = await harness.endpoint({ url: TARGET });
      const [deliveryId = ''] = await harness.enqueue(id);
      await harness.dispatcher.start();
      await harness.committed(told.length + 1);
      const { sent: _, id: __, ...attempt } = (await harness.delivery(deliveryId)).attempts[0] ?? {};
      told.push({ ...attempt, requestHeaders: null });
    }
    for (const one of told) expect(one).toEqual(told[0]);
    expect(JSON.stringify(told)).not.toMatch(/127\.84|10\.255|169\.254|::1|fd00|ECONN|EHOST/);
    expect(insideConnections).toBe(0);
  });
});
