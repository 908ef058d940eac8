import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { brotliCompressSync, createGunzip, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { createRequests } from '../../src/detection/request.ts';
import { systemClock } from '../../src/lib/clock.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** Requests a response whose body is `first`, and then `more` without an end. */
function readEndless(encoding: string, first: Buffer, more: Buffer) {
  return readFrom((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: ${encoding}\r\n\r\n`);
    socket.write(first);
    const goOn = () => {
      while (!socket.destroyed && socket.write(more));
    };
    socket.on('drain', goOn);
    goOn();
  });
}

/** Requests what `answer` sends. */
async function readFrom(answer: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const requests = createRequests({
    clock: systemClock,
    connect(_, callback) {
      const socket = connectTo(port, '127.0.0.1', () => callback(null, socket));
      socket.on('error', () => {});
      return { cancel: (error) => void socket.destroy(error) };
    },
  });
  const url = new URL(`http://127.0.0.1:${port}/`);
  return await requests.send(url, { headers: {}, owner: '', signal: null });
}

const CODINGS = [
  { encoding: 'br', compressed: brotliCompressSync('whole') },
  { encoding: 'gzip', compressed: gzipSync('whole') },
  { encoding: 'deflate', compressed: deflateSync('whole') },
];

/** Errors that nothing caught, from now until the end of the test. */
function watchUncaught(): unknown[] {
  const uncaught: unknown[] = [];
  const listener = (error: unknown) => uncaught.push(error);
  process.on('uncaughtException', listener);
  ends.push(() => process.off('uncaughtException', listener));
  return uncaught;
}

test.each(CODINGS)('zeros after the end of $encoding data do not end the process', async (coding) => {
  const uncaught = watchUncaught();
  const { body } = await readEndless(coding.encoding, coding.compressed, Buffer.alloc(65_536));
  await pause(50);
  expect(body.toString()).toBe('whole');
  expect(uncaught).toEqual([]);
});

test.each([
  { what: 'in an encoding that was not requested', encoding: 'zstd' },
  { what: 'of too many bytes', encoding: 'identity' },
  { what: 'that is not the compression it names', encoding: 'gzip' },
])('a response $what that never ends does not end the process', async ({ encoding }) => {
  const uncaught = watchUncaught();
  const reading = readEndless(encoding, Buffer.from('a'), Buffer.alloc(65_536, 'a'));
  await expect(reading).rejects.toMatchObject({ name: 'SourceFault' });
  await pause(50);
  expect(uncaught).toEqual([]);
});

test('compressed data without any content is limited as it is received', async () => {
  const empty = Buffer.alloc(500_000, Buffer.from([0, 0, 0, 0xff, 0xff]));
  const reading = readEndless('deflate', Buffer.from([0x78, 0x9c]), empty);
  await expect(reading).rejects.toMatchObject({ name: 'SourceFault', code: 'too_large' });
});

test('connects on behalf of the tenant, so that TLS handshakes of tenants take turns', async () => {
  const owners: (string | undefined)[] = [];
  const requests = createRequests({
    clock: systemClock,
    connect(_, callback, owner) {
      owners.push(owner);
      callback(new Error('closed'), null);
      return { cancel: () => {} };
    },
  });
  const url = new URL('http://127.0.0.1/');
  await expect(requests.send(url, { headers: {}, owner: 'ten_a', signal: null })).rejects.toThrow();
  await expect(requests.send(url, { headers: {}, owner: '', signal: null })).rejects.toThrow();
  expect(owners).toEqual(['ten_a', undefined]); // without one, each host is its own
});

test('chunks of one byte are decompressed together', async () => {
  const text = randomBytes(20_000).toString('hex');
  const compressed = gzipSync(text);
  const decompress = vi.spyOn(Object.getPrototypeOf(Object.getPrototypeOf(createGunzip())), '_transform');
  onTestFinished(() => decompress.mockRestore());
  const { body } = await readFrom((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n');
    const chunks = Array.from(compressed, (byte) => Buffer.from([0x31, 13, 10, byte, 13, 10]));
    socket.end(Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]));
  });
  expect(body.toString()).toBe(text);
  expect(decompress.mock.calls.length).toBeLessThan(5);
});
