import { createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startFullBacklog } from '../support/full-backlog.ts';
import { hang, type Receiver, startReceiver, status } from '../support/receiver.ts';
import { createHarness, type Harness, type HarnessOptions, settle } from './harness.ts';

const LIMIT_MS = 5_000;

let harness: Harness | null = null;
let closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await harness?.dispatcher.stop(0);
  for (const close of closers.reverse()) await close();
  harness = null;
  closers = [];
});

/** A TCP server on loopback with custom behaviour. */
async function startSocketServer(onSocket: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Sends one delivery with a timeout of 5 s and advances time in steps of 0.1 s; `onStep` runs after each. */
async function attemptOf(url: string, options: HarnessOptions = {}, onStep: () => void = () => {}) {
  harness = await createHarness(options);
  const { id } = await harness.endpoint({ url, timeout_seconds: LIMIT_MS / 1_000 });
  const [deliveryId = ''] = await harness.enqueue(id);
  await harness.dispatcher.start();
  await settle(30);
  for (let passed = 100; passed <= LIMIT_MS; passed += 100) {
    expect([passed, harness.outcomes.length]).toEqual([passed, 0]);
    harness.clock.advance(100);
    onStep();
    await settle(2);
  }
  await harness.committed(1);
  const { status: state, attempts } = await harness.delivery(deliveryId);
  const [attempt] = attempts;
  return { state, code: attempt?.error?.code ?? null, response: attempt?.response, ms: attempt?.durationMs };
}

const TIMED_OUT = { state: 'retrying', code: 'timeout', response: null, ms: LIMIT_MS };

describe('the timeout covers', () => {
  it('a name that does not resolve', async () => {
    const lookup = () => new Promise<string[]>(() => {});
    const attempt = await attemptOf('https://receiver.example.com/', { network: { lookup } });
    expect(attempt).toEqual(TIMED_OUT);
  });

  it('a connection whose SYN is not answered', async () => {
    const { port, close } = await startFullBacklog();
    closers.push(close);
    expect(await attemptOf(`http://127.0.0.1:${port}/`)).toEqual(TIMED_OUT);
  });

  it('a TLS handshake that stalls', async () => {
    const port = await startSocketServer(() => {});
    expect(await attemptOf(`https://127.0.0.1:${port}/`)).toEqual(TIMED_OUT);
  });

  it('a receiver that reads the request but does not respond', async () => {
    const receiver = await startReceiver(hang);
    closers.push(receiver.close);
    expect(await attemptOf(receiver.url)).toEqual(TIMED_OUT);
    expect(receiver.requests).toHaveLength(1);
  });

  it('a head that arrives byte by byte', async () => {
    const open: Socket[] = [];
    const port = await startSocketServer((socket) => void open.push(socket));
    const head = `HTTP/1.1 200 OK\r\nx-slow: ${'y'.repeat(1_000)}`;
    let sent = 0;
    const attempt = await attemptOf(`http://127.0.0.1:${port}/`, {}, () => {
      for (const socket of open) socket.write(head.slice(sent, ++sent));
    });
    expect(attempt).toEqual(TIMED_OUT);
    expect(open).toHaveLength(1);
  });

  it('endless interim responses', async () => {
    const open: Socket[] = [];
    const port = await startSocketServer((socket) => void open.push(socket));
    const attempt = await attemptOf(`http://127.0.0.1:${port}/`, {}, () => {
      for (const socket of open) socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n');
    });
    expect(attempt).toEqual(TIMED_OUT);
  });

  it.each([
    [200, 'delivered', null],
    [500, 'retrying', 'http_status'],
  ])('a body that trickles in after the deciding head of a %d', async (code, state, fault) => {
    const open: Socket[] = [];
    const port = await startSocketServer((socket) => {
      open.push(socket);
      socket.write(`HTTP/1.1 ${code} Whatever\r\ncontent-length: 1000\r\n\r\n`);
    });
    const attempt = await attemptOf(`http://127.0.0.1:${port}/`, {}, () => {
      for (const socket of open) socket.write('x');
    });
    expect(attempt).toMatchObject({ state, code: fault, ms: LIMIT_MS, response: { status: code } });
    expect(attempt.response?.body).toMatch(/^x{30,}$/);
  });
});

describe('there is one timeout for the whole attempt', () => {
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startReceiver();
    closers.push(() => receiver.close());
  });

  it('even if a dead address is tried before one that responds late', async () => {
    const { port, close } = await startFullBacklog();
    closers.push(close);
    const late = await startReceiver(hang, undefined, { host: '127.0.0.7', port });
    closers.push(late.close);
    const lookup = async () => ['127.0.0.1', '127.0.0.7'];
    const attempt = await attemptOf(`http://localhost:${port}/`, { network: { lookup } });
    expect(attempt).toEqual(TIMED_OUT);
    expect(late.requests).toHaveLength(1);
  });

  it('even if a kept-alive connection is closed and the second one stalls', async () => {
    harness = await createHarness();
    const { id } = await harness.endpoint({ url: receiver.url, timeout_seconds: 5 });
    await harness.enqueue(id);
    await harness.dispatcher.start();
    await harness.committed(1);
    await settle();
    receiver.answer = (response, request, socket) => {
      if (request.connection === 1) setTimeout(() => socket.destroy(), 20);
      else hang(response, request, socket);
    };
    await harness.enqueue(id);
    harness.dispatcher.nudge([{ endpointId: id, tenantId: 'ten_a' }]);
    await receiver.received(2);
    harness.clock.advance(3_000);
    await receiver.received(3);
    harness.clock.advance(1_999);
    await settle();
    expect(harness.outcomes).toHaveLength(1);
    harness.clock.advance(1);
    await harness.committed(2);
    expect(harness.outcomes[1]?.attempt).toMatchObject({ durationMs: 5_000, error: { code: 'timeout' } });
  });

  it('and each endpoint has its own', async () => {
    receiver.answer = hang;
    harness = await createHarness();
    const slow = await harness.endpoint({ url: receiver.url, timeout_seconds: 30 });
    const fast = await harness.endpoint({ url: receiver.url, timeout_seconds: 1 });
    for (const { id } of [slow, fast]) await harness.enqueue(id);
    await harness.dispatcher.start();
    await receiver.received(2);
    harness.clock.advance(1_000);
    await harness.committed(1);
    expect(harness.outcomes[0]?.endpointId).toBe(fast.id);
    harness.clock.advance(28_999);
    await settle();
    expect(harness.outcomes.filter((outcome) => outcome.endpointId === slow.id)).toHaveLength(0);
    harness.clock.advance(1);
    await settle();
    const last = harness.outcomes.find((outcome) => outcome.endpointId === slow.id);
    expect(last?.attempt.durationMs).toBe(30_000);
  });
});

describe('a request that timed out', () => {
  it('leaves no connection open', async () => {
    const receiver = await startReceiver(hang);
    closers.push(receiver.close);
    let closed = 0;
    receiver.answer = (_, __, socket) => void socket.once('close', () => closed++);
    await attemptOf(receiver.url);
    await settle();
    expect(closed).toBe(1);
    receiver.answer = status(200);
  });
});
