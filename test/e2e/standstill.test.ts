import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../cli/process.ts';
import { call, postSignals, startCountingReceiver } from '../support/counting-receiver.ts';
import { freePort, runCommand, serverEnv, startServerProcess } from '../support/server-process.ts';

const LIMIT = 30;
const TIMEOUT_SECONDS = 2;
/** Well above the timeout: every deadline has passed when the process resumes. */
const STILL_MS = 3_000;

test('a suspended process neither exceeds the throttle nor fails attempts answered in the meantime', async () => {
  const folder = temporaryFolder();
  onTestFinished(() => folder[Symbol.dispose]());
  const port = await freePort();
  const create = [
    'tenant',
    'create',
    '--name',
    'Still',
    '--email',
    's@example.com',
    '--plan',
    'enterprise',
    '--json',
  ];
  const { api_key: key } = JSON.parse(await runCommand(create, serverEnv(folder.path, port)));
  // Responses take half a second: they arrive while the process is suspended.
  const receiver = await startCountingReceiver((response) => setTimeout(() => response.end(), 500));
  const server = await startServerProcess(folder.path, port);
  onTestFinished(server.kill);
  const target = { url: `${receiver.url}/a`, rate_limit_per_minute: LIMIT, timeout_seconds: TIMEOUT_SECONDS };
  receiver.secrets.set('/a', (await call(server.url, key, '/v1/webhooks', target)).data.secret);

  await postSignals(
    server.url,
    key,
    Array.from({ length: 60 }, (_, n) => `https://forum.example/still/${n}`),
  );
  await expect.poll(() => receiver.total, { timeout: 10_000, interval: 5 }).toBe(20);
  server.freeze();
  const before = receiver.total;
  await new Promise((resolve) => setTimeout(resolve, STILL_MS));
  expect(receiver.total).toBe(before);
  server.thaw();

  await expect.poll(() => receiver.total, { timeout: 10_000 }).toBe(LIMIT);
  const listed = async (status: string) =>
    (await call(server.url, key, `/v1/deliveries?status=${status}&limit=100`)).data;
  await expect.poll(async () => (await listed('delivered')).length, { timeout: 10_000 }).toBe(LIMIT);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(receiver.total).toBe(LIMIT);
  expect(await listed('retrying')).toEqual([]);
  expect([...receiver.counts.values()]).toEqual(Array(LIMIT).fill(1));
  expect(receiver.unexpected).toEqual([]);
  expect(await server.terminate()).toBe(0);
}, 60_000);
