import { createServer, type Server, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { startReceiver } from '../support/receiver.ts';
import { createHarness, type Harness } from './harness.ts';

const MEGABYTE = 1_048_576;
/** Kernel memory of a loopback connection, in both directions, in addition to what we read. */
const SOCKET_BUFFERS = 16 * MEGABYTE;

let server: Server | null = null;
let harness: Harness | null = null;
afterEach(async () => {
  await harness?.dispatcher.stop(0);
  await new Promise((resolve) => server?.close(resolve) ?? resolve(null));
  server = null;
  harness = null;
});

/** A receiver that writes `start`, and then `more` endlessly, as fast as it is read. */
async function startEndless(start: string, more: string) {
  const sockets: Socket[] = [];
  const endless = createServer((socket) => {
    sockets.push(socket);
    const pump = () => {
      while (!socket.destroyed && socket.write(more));
    };
    socket.on('error', () => {}).on('drain', pump);
    socket.once('data', () => {
      socket.write(start);
      pump();
    });
  });
  server = endless;
  await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve));
  const address = endless.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`,
    closed: () => new Promise((resolve) => endless.close(resolve)),
    written: () => sockets.reduce((sum, socket) => sum + socket.bytesWritten, 0),
  };
}

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;

describe('an endless response', () => {
  it.each([
    ['in its body', `${OK}content-length: 999999999999\r\n\r\n`, 'x'.repeat(65_536), null],
    ['in chunks of one byte', CHUNKED, '1\r\nx\r\n'.repeat(10_000), null],
    ['in a chunk’s extension', `${CHUNKED}1;`, 'x'.repeat(65_536), null],
    ['in its trailers', `${CHUNKED}0\r\n`, 'a: b\r\n'.repeat(10_000), null],
    ['in a header', `${OK}x: `, 'x'.repeat(65_536), 'invalid_response'],
    ['in its number of headers', OK, 'x: y\r\n'.repeat(10_000), 'invalid_response'],
    ['in its status line', 'HTTP/1.1 200 ', 'x'.repeat(65_536), 'invalid_response'],
    ['in interim replies', '', 'HTTP/1.1 103 Hints\r\nlink: </a>\r\n\r\n'.repeat(1_000), 'invalid_response'],
    ['in interim replies of 100', '', 'HTTP/1.1 100 Go on\r\n\r\n'.repeat(1_000), 'invalid_response'],
    ['in empty lines before its head', '', '\r\n'.repeat(30_000), 'invalid_response'],
  ])('%s is cut off long before the time limit, without being read', async (_, start, more, fault) => {
    const { url, written } = await startEndless(start, more);
    harness = await createHarness();
    const { id } = await harness.endpoint({ url });
    const [deliveryId = ''] = await harness.enqueue(id);
    await harness.dispatcher.start();
    await harness.committed(1); // the clock has not moved
    const log = await harness.delivery(deliveryId);
    expect([log.status, log.attempts[0]?.error?.code ?? null]).toEqual([
      fault === null ? 'delivered' : 'retrying',
      fault,
    ]);
    expect((log.attempts[0]?.response?.body ?? '').length).toBeLessThanOrEqual(16_384);
    expect(written()).toBeLessThan(SOCKET_BUFFERS);
  });

  it('uses no memory, regardless of their number', async () => {
    const { url, closed } = await startEndless(
      `${OK}content-length: 999999999999\r\n\r\n`,
      'x'.repeat(65_536),
    );
    harness = await createHarness();
    const { id } = await harness.endpoint({ url, rate_limit_per_minute: 10_000 });
    await harness.enqueue(id, 300);
    const before = memory();
    await harness.dispatcher.start();
    await harness.committed(300);
    expect(harness.outcomes.every(({ next }) => next.status === 'delivered')).toBe(true);
    harness.outcomes.length = 0; // the harness keeps outcomes of 16 KB each
    await harness.dispatcher.stop(0);
    await closed(); // the receiver's buffers are not our memory
    expect(memory() - before).toBeLessThan(60 * MEGABYTE); // reading without a limit would take gigabytes
  }, 60_000);
});

describe('a compressed response', () => {
  it('is stored as received, without decompressing its hundred megabytes', async () => {
    const bomb = gzipSync(Buffer.alloc(100 * MEGABYTE));
    const receiver = await startReceiver((response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
    });
    harness = await createHarness();
    const { id } = await harness.endpoint({ url: receiver.url });
    const [deliveryId = ''] = await harness.enqueue(id);
    const before = memory();
    await harness.dispatcher.start();
    await harness.committed(1);
    const [attempt] = (await harness.delivery(deliveryId)).attempts;
    expect(attempt?.error).toBeNull();
    expect(attempt?.response?.headers['content-encoding']).toBe('gzip');
    expect(attempt?.response?.body.slice(0, 3)).toBe(bomb.toString('utf8').slice(0, 3));
    expect(Buffer.byteLength(attempt?.response?.body ?? '')).toBeLessThan(16_384 * 3 + 1); // U+FFFD takes three bytes
    expect(memory() - before).toBeLessThan(20 * MEGABYTE);
    await receiver.close();
  });
});

/** Bytes in use inside and outside the heap, after garbage collection. */
function memory(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
