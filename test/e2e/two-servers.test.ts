import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { call, postSignals, startCountingReceiver } from '../support/counting-receiver.ts';
import { freePort, runCommand, serverEnv, startServerProcess } from '../support/server-process.ts';

const ANSWER_AFTER_MS = 600;
const IN_FLIGHT_PER_ENDPOINT = 20;

const urls = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => `https://forum.example/${prefix}/${n}`);

test('a second server on one file sends nothing leased to the first, and everything after the first is killed', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalpost-two-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const ports = [await freePort(), await freePort()] as const;
  const receiver = await startCountingReceiver((response) =>
    setTimeout(() => response.end(), ANSWER_AFTER_MS),
  );
  const { api_key: key } = JSON.parse(
    await runCommand(
      ['tenant', 'create', '--name', 'Two', '--email', 'two@example.com', '--plan', 'enterprise', '--json'],
      serverEnv(dataDir, ports[0]),
    ),
  );
  const first = await startServerProcess(dataDir, ports[0]);
  onTestFinished(first.kill);
  const target = { url: `${receiver.url}/a`, rate_limit_per_minute: 1_000_000 };
  receiver.secrets.set('/a', (await call(first.url, key, '/v1/webhooks', target)).data.secret);

  // Long enough that the second server starts in the middle.
  const begun = receiver.afterMore(20);
  await postSignals(first.url, key, urls('both', 400));
  await begun;
  const second = await startServerProcess(dataDir, ports[1]);
  onTestFinished(second.kill);
  const whenStarted = receiver.total;
  await receiver.until(() => receiver.counts.size === 400);
  expect(whenStarted).toBeLessThan(400);
  expect(receiver.total).toBe(400);

  const moreArrived = receiver.afterMore(20);
  await postSignals(first.url, key, urls('after', 100));
  await moreArrived;
  await first.kill();
  // Deliveries of a dead process are due within 35 s: after 20 s without a heartbeat, and the other server checks
  // every 15 s.
  await receiver.until(() => receiver.counts.size === 500, 50_000);
  expect(receiver.counts.size).toBe(500);
  expect(receiver.total).toBeLessThanOrEqual(500 + IN_FLIGHT_PER_ENDPOINT);
  expect(receiver.unexpected).toEqual([]);
}, 120_000);
