import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { call, startCountingReceiver } from '../support/counting-receiver.ts';
import { freePort, runCommand, serverEnv, startServerProcess } from '../support/server-process.ts';

const POSTS = 60;
/**
 * So long that a commit stores only three posts: few are stored at the kill, so that an endpoint has room for all of
 * them.
 */
const TEXT = ' It leaks.'.repeat(900);
/** Long enough that deliveries sent by recovery are still in flight when the request runs again. */
const ANSWER_AFTER_MS = 600;
const IN_FLIGHT_PER_ENDPOINT = 20;
/** Long enough for a faulty server to have sent what it must not. */
const QUIET_MS = 2_000;

test('a batch repeated with its key after kill -9 sends each delivery once, and none that had arrived', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalpost-keyed-deliveries-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const port = await freePort();
  const receiver = await startCountingReceiver((response) =>
    setTimeout(() => response.end(), ANSWER_AFTER_MS),
  );
  const { api_key: key } = JSON.parse(
    await runCommand(
      ['tenant', 'create', '--name', 'Keyed', '--email', 'k@example.com', '--plan', 'enterprise', '--json'],
      serverEnv(dataDir, port),
    ),
  );
  let server = await startServerProcess(dataDir, port);
  onTestFinished(() => server.kill());
  const target = { url: `${receiver.url}/a`, rate_limit_per_minute: 1_000_000 };
  receiver.secrets.set('/a', (await call(server.url, key, '/v1/webhooks', target)).data.secret);

  const signals = Array.from({ length: POSTS }, (_, n) => ({
    platform: { name: 'forum', post_url: `https://forum.example/keyed/${n}` },
    text: `We need a new plumber for house ${n}.${TEXT}`,
  }));
  const post = () =>
    fetch(`${server.url}/v1/signals/batch`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': 'batch-1',
      },
      body: JSON.stringify({ signals }),
    }).then(
      (response) => response.status,
      () => null,
    );

  // By then, the first pieces of the batch are stored, and the response has not been sent.
  const arrived = receiver.afterMore(1).then(() => server.kill());
  const [firstStatus] = await Promise.all([post(), arrived]);
  expect(firstStatus).toBeNull();
  const before = new Map(receiver.counts);

  // Awaited from before the start: recovery may have sent everything by the time the server reports that it listens.
  const recovered = receiver.afterMore(1);
  server = await startServerProcess(dataDir, port);
  await recovered;
  expect(await post()).toBeLessThan(300);
  await receiver.until(() => receiver.counts.size === POSTS);
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS));

  expect(receiver.counts.size).toBe(POSTS);
  const again = [...receiver.counts].map(([item, count]) => count - (before.get(item) ?? 0));
  expect(again.filter((count) => count > 1)).toEqual([]);
  // Of those that had arrived, only deliveries in flight, or answered and not yet committed.
  const twice = [...receiver.counts.values()].filter((count) => count > 1).length;
  expect(twice).toBeLessThanOrEqual(IN_FLIGHT_PER_ENDPOINT);
  expect(receiver.unexpected).toEqual([]);
}, 180_000);
