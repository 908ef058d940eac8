import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../cli/process.ts';
import { call, postSignals, startCountingReceiver } from '../support/counting-receiver.ts';
import { freePort, runCommand, serverEnv, startServerProcess } from '../support/server-process.ts';

const BLACK_HOLES = 100;
/** A quarter of all slots: from here on, unresponsive endpoints of a tenant get fewer requests. */
const FILLED = 1_000;
const POSTS = 80;
const EVERY_MS = 50;

/** Accepts connections and requests, and never responds. */
async function startBlackHole() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket
      .on('error', () => {})
      .on('close', () => sockets.delete(socket))
      .resume();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    open: () => sockets.size,
  };
}

test('a hundred endpoints that never respond do not slow down the deliveries of another tenant', async () => {
  const folder = temporaryFolder();
  onTestFinished(() => folder[Symbol.dispose]());
  const port = await freePort();
  const createTenant = async (name: string) => {
    const args = [
      'tenant',
      'create',
      '--name',
      name,
      '--email',
      `${name}@example.com`,
      '--plan',
      'enterprise',
    ];
    return JSON.parse(await runCommand([...args, '--json'], serverEnv(folder.path, port))).api_key as string;
  };
  const [holes, healthy] = [await createTenant('holes'), await createTenant('healthy')];
  const blackHole = await startBlackHole();
  const receiver = await startCountingReceiver();
  const server = await startServerProcess(folder.path, port);
  onTestFinished(server.kill);

  const fast = { rate_limit_per_minute: 10_000 };
  // One after the other: a hundred at once on a process that has just started may have to wait too long, and be refused.
  for (let n = 0; n < BLACK_HOLES; n++)
    await call(server.url, holes, '/v1/webhooks', { url: `${blackHole.url}/${n}`, ...fast });
  const target = { url: `${receiver.url}/ok`, ...fast };
  receiver.secrets.set('/ok', (await call(server.url, healthy, '/v1/webhooks', target)).data.secret);
  const lost = Array.from({ length: 60 }, (_, n) => `https://forum.example/hole/${n}`);
  await postSignals(server.url, holes, lost);
  // They fill slowly: over all endpoints, 64 requests without a response start per half second.
  await expect.poll(blackHole.open, { timeout: 28_000 }).toBeGreaterThanOrEqual(FILLED);

  const delays: number[] = [];
  const arrivals: Promise<void>[] = [];
  for (let n = 0; n < POSTS; n++) {
    const url = `https://forum.example/ok/${n}`;
    const posted = performance.now();
    arrivals.push(receiver.arrival(`/ok ${url}`).then(() => void delays.push(performance.now() - posted)));
    await postSignals(server.url, healthy, [url]);
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
  await Promise.all(arrivals);
  delays.sort((a, b) => a - b);
  expect(receiver.unexpected).toEqual([]);
  expect(delays[Math.floor(POSTS * 0.95)]).toBeLessThan(2_000);
}, 120_000);
