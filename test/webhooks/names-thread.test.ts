import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { createNamesThread } from '../../src/webhooks/names-thread.ts';

/** A name server in a thread: UDP refers to TCP, where each answer has 4,000 addresses; `counts[0]` counts these queries. */
const SERVER = `
const { parentPort, workerData } = require('node:worker_threads');
const counts = new Int32Array(workerData);
const replyTo = (query, isWhole) => {
  const end = query.indexOf(0, 12) + 5;
  const isV4 = query.readUInt16BE(end - 4) === 1;
  const count = isWhole && isV4 ? 4000 : 0;
  const head = Buffer.from(query.subarray(0, end));
  head.writeUInt16BE(isWhole ? 0x8180 : 0x8380, 2);
  head.fill(0, 6, 12);
  head.writeUInt16BE(count, 6);
  const records = Array.from({ length: count }, (_, n) =>
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 203, 0, n >> 8, n & 255]));
  return Buffer.concat([head, ...records]);
};
const tcp = require('node:net').createServer((socket) => {
  socket.on('error', () => {});
  let got = Buffer.alloc(0);
  socket.on('data', (data) => {
    got = Buffer.concat([got, data]);
    while (got.length >= 2 && got.length >= 2 + got.readUInt16BE(0)) {
      const query = got.subarray(2, 2 + got.readUInt16BE(0));
      got = got.subarray(2 + query.length);
      const reply = replyTo(query, true);
      const size = Buffer.alloc(2);
      size.writeUInt16BE(reply.length);
      socket.write(Buffer.concat([size, reply]));
      Atomics.add(counts, 0, 1);
      Atomics.notify(counts, 0);
    }
  });
});
tcp.listen(0, '127.0.0.1', () => {
  const { port } = tcp.address();
  const udp = require('node:dgram').createSocket('udp4');
  udp.on('message', (query, from) => udp.send(replyTo(query, false), from.port, from.address));
  udp.bind(port, '127.0.0.1', () => parentPort.postMessage(port));
});`;

test('names are looked up while the process is busy, and of thousands of addresses a few cross threads', async () => {
  const shared = new SharedArrayBuffer(4);
  const server = new Worker(SERVER, { eval: true, workerData: shared });
  onTestFinished(async () => {
    await server.terminate();
  });
  const [port] = await once(server, 'message');
  const lookUp = createNamesThread([`127.0.0.1:${port}`]);
  const found = lookUp('many.example');
  // Nothing runs in this thread until the truncated UDP answer has been read, and the query repeated over TCP.
  expect(Atomics.wait(new Int32Array(shared), 0, 0, 20_000)).not.toBe('timed-out');
  expect(await found).toHaveLength(32);
});

test('a name that does not exist has no addresses', async () => {
  const lookUp = createNamesThread(['127.0.0.1:1']);
  expect(await lookUp('none.example')).toEqual([]);
});
