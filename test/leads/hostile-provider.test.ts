import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { createProvider } from '../../src/leads/enrichment.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { ownCurveCertificates } from '../support/costly-certificates.ts';
import { cpuOf } from '../support/cpu-time.ts';

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
  const longestTurn = async () => {
    const provider = createProvider({
      ...{ url: `http://127.0.0.1:${port}/`, dailyLimit: 100, clock: systemClock },
      store: { countEnrichment: async () => true },
      log: { warn: () => {} },
    });
    const { longestMs } = await cpuOf(() =>
      Promise.all(
        Array.from({ length: 8 }, (_, n) => provider.ask(`ten_${n}`, { email: `jane${n}@example.com` })),
      ),
    );
    await provider.close();
    return longestMs;
  };
  // The least of three: 3 to 12, and 61 to 90 when responses are not read in turns. The first one includes compiling, any may include collecting garbage.
  const turns = [await longestTurn(), await longestTurn(), await longestTurn()];
  expect(Math.min(...turns)).toBeLessThan(35);
});

test('queries of one tenant, however many, leave places for those of others, who take turns', async () => {
  const asked: { email: string; answer(): void }[] = [];
  let isHeld = true;
  const server = createHttpServer(async (request, reply) => {
    const { email } = JSON.parse((await request.setEncoding('utf8').toArray()).join(''));
    const answer = () => void reply.writeHead(204).end();
    asked.push({ email, answer });
    if (!isHeld) answer();
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
  const ask = (tenant: string, count: number) =>
    Array.from({ length: count }, (_, n) => provider.ask(tenant, { email: `${tenant}${n}@example.com` }));
  const emails = () => asked.map(({ email }) => email.slice(0, 2)).join(' ');
  const many = ask('a', 20);
  await expect.poll(() => asked.length).toBe(4);
  const few = [...ask('b', 3), ...ask('c', 1), ...ask('d', 1)];
  await expect.poll(() => asked.length).toBe(8);
  expect(emails().split(' ').slice(4).sort()).toEqual(['b0', 'b1', 'c0', 'd0']);
  isHeld = false;
  for (const { answer } of asked) answer();
  await Promise.all([...many, ...few]);
  expect(asked).toHaveLength(25);
});

test('certificates of a provider with keys that take long to read are not read', async () => {
  const server = createTlsServer(ownCurveCertificates(1), (socket) => socket.on('error', () => {}));
  server.on('tlsClientError', () => {}).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const reasons: unknown[] = [];
  const provider = createProvider({
    ...{ url: `https://127.0.0.1:${port}/`, dailyLimit: 100, clock: systemClock },
    store: { countEnrichment: async () => true },
    log: { warn: (fields) => void reasons.push(Reflect.get(fields, 'reason')) },
  });
  onTestFinished(() => provider.close());
  for (let n = 0; n < 5; n++)
    expect(await provider.ask('ten_a', { email: `jane${n}@example.com` })).toBeNull();
  expect(reasons).toEqual(['tls']);
});
