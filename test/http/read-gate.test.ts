import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { expect, onTestFinished, test } from 'vitest';
import { handleInOrder, readInTurns } from '../../src/http/reading-turns.ts';

const CONNECTIONS = 600;

test('of hundreds of connections that send at the same moment, few are read per turn of the event loop, and all are answered', async () => {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.end('ok'));
  });
  let now = 0;
  const clock = { monotonic: () => (now += 0.1) };
  readInTurns(server, clock, handleInOrder(server));
  const reads = new Map<number, number>();
  server.on('connection', (socket) => {
    socket.on('data', () => {
      const turn = performance.nodeTiming.uvMetricsInfo.loopCount;
      reads.set(turn, (reads.get(turn) ?? 0) + 1);
    });
  });
  server.listen(0, '127.0.0.1', 1_000);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const clients: Socket[] = [];
  for (let n = 0; n < CONNECTIONS; n++) clients.push(connect(port, '127.0.0.1'));
  onTestFinished(() => clients.forEach((client) => void client.destroy()));
  await Promise.all(clients.map((client) => once(client, 'connect')));
  const body = 'x'.repeat(20_000);
  for (const round of [1, 2]) {
    reads.clear();
    const answered = clients.map((client) => once(client, 'data'));
    const head = `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n`;
    for (const client of clients) client.write(head + body);
    const answers = await Promise.all(answered);
    expect(
      answers.filter(([data]) => String(data).startsWith('HTTP/1.1 200')),
      `round ${round}`,
    ).toHaveLength(CONNECTIONS);
    // In the first round, connections are accepted one per turn; in the second, all are open.
    expect(Math.max(...reads.values()), `round ${round}`).toBeLessThanOrEqual(64);
  }
}, 20_000);
