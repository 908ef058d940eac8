import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createProvider } from '../../src/leads/enrichment.ts';
import { systemClock } from '../../src/lib/clock.ts';

test.each([
  ['headers', 'HTTP/1.1 200 OK\r\n'],
  ['trailers', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n'],
])('eight responses of a provider with nothing but %s block no turn of the event loop', async (_, head) => {
  const rest = Buffer.from('a: b\r\n'.repeat(200_000));
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(head);
      socket.write(rest);
    });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const provider = createProvider({
    ...{ url: `http://127.0.0.1:${port}/`, dailyLimit: 100, clock: systemClock },
    store: { countEnrichment: async () => true },
    log: { warn: () => {} },
  });
  onTestFinished(() => provider.close());
  let isDone = false;
  const asking = Promise.all(
    Array.from({ length: 8 }, (_, n) => provider.ask({ email: `jane${n}@example.com` })),
  ).then(() => {
    isDone = true;
  });
  let longest = 0;
  while (!isDone) {
    const before = process.threadCpuUsage();
    await nextTurn();
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
  }
  await asking;
  expect(longest).toBeLessThan(35);
});
