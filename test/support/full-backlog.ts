import { createConnection, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/** Listens, prints its port, and stops: the kernel accepts connections until its queue is full. */
const LISTENER = `
  const { createServer } = require('node:net');
  const { parentPort } = require('node:worker_threads');
  const server = createServer();
  server.listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  });`;
/** Loopback connects within a millisecond, and on a busy machine still well within this. */
const UNANSWERED_MS = 250;

/** A port on loopback whose SYNs are dropped, as by a firewall that does not respond. */
export async function startFullBacklog(): Promise<{ port: number; close(): Promise<void> }> {
  const listener = new Worker(LISTENER, { eval: true });
  const port = await new Promise<number>((resolve) => listener.once('message', resolve));
  const sockets: Socket[] = [];
  let answered = true;
  while (answered && sockets.length < 50) {
    const socket = createConnection(port, '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    answered = await Promise.race([
      new Promise<boolean>((resolve) => socket.once('connect', () => resolve(true))),
      new Promise<boolean>((resolve) => setTimeout(resolve, UNANSWERED_MS, false)),
    ]);
  }
  if (answered) throw new Error('the queue does not fill: connections are still answered');
  return {
    port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await listener.terminate();
    },
  };
}
