import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { call } from '../support/counting-receiver.ts';
import { freePort, runCommand, serverEnv, startServerProcess } from '../support/server-process.ts';

const KILLS = 12;
const CLIENTS = 8;
/** A different position each time, in the middle of the clients' requests: a prime step keeps the positions apart. */
const answersBeforeKill = (round: number) => 5 + ((round * 577) % 61);

interface Answer {
  data?: { signals: { signal_id: string }[] };
}

/** The responses that a client received for one post, one per attempt. */
type Heard = { key: string; statuses: number[]; signalId: string; replayed: boolean };

test('posts repeated with their key after kill -9 are stored once each, and never get IDEMPOTENCY_IN_FLIGHT', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalpost-keyed-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const port = await freePort();
  const { api_key: apiKey } = JSON.parse(
    await runCommand(
      ['tenant', 'create', '--name', 'Keyed', '--email', 'k@example.com', '--plan', 'enterprise', '--json'],
      serverEnv(dataDir, port),
    ),
  );
  let server = await startServerProcess(dataDir, port);
  onTestFinished(() => server.kill());
  let restarted = Promise.withResolvers<void>();
  let stopping = false;
  const heard: Heard[] = [];
  let awaited = { count: 0, resolve: () => {} };
  const heardMore = (count: number) =>
    new Promise<void>((resolve) => {
      awaited = { count: heard.length + count, resolve };
    });

  /** Without URL and external ID: the same text becomes another signal each time it is accepted. */
  async function send(key: string): Promise<Response | null> {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    };
    const body = JSON.stringify({ platform: { name: 'forum' }, text: `We need a plumber, ${key}.` });
    try {
      return await fetch(`${server.url}/v1/signals`, { method: 'POST', headers, body });
    } catch {
      return null;
    }
  }

  /** Retries until there is a response; an interrupted response counts as none. */
  async function post(key: string): Promise<void> {
    const statuses: number[] = [];
    for (;;) {
      const again = restarted.promise;
      const response = await send(key);
      const body = (await response?.json().catch(() => null)) as Answer | null | undefined;
      if (response && body) {
        statuses.push(response.status);
        const replayed = response.headers.get('idempotent-replayed') === 'true';
        heard.push({ key, statuses, signalId: body.data?.signals[0]?.signal_id ?? '', replayed });
        if (heard.length >= awaited.count) awaited.resolve();
        return;
      }
      await again;
    }
  }

  async function client(number: number): Promise<void> {
    for (let n = 0; !stopping; n++) await post(`c${number}-${n}`);
  }

  const clients = Array.from({ length: CLIENTS }, (_, number) => client(number));
  for (let round = 0; round < KILLS; round++) {
    await heardMore(answersBeforeKill(round));
    await server.kill();
    server = await startServerProcess(dataDir, port);
    restarted.resolve();
    restarted = Promise.withResolvers<void>();
  }
  stopping = true;
  await Promise.all(clients);

  expect(heard.filter(({ statuses }) => statuses.some((status) => status !== 201))).toEqual([]);
  const stored: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const page = await call(server.url, apiKey, `/v1/signals?limit=100${query}`);
    stored.push(...page.data.map((signal: { signal_id: string }) => signal.signal_id));
    cursor = page.pagination.next_cursor;
  }
  expect(stored.sort()).toEqual(heard.map(({ signalId }) => signalId).sort());
  // Otherwise no kill hit a post between its commit and its response, and nothing was tested.
  expect(heard.filter(({ replayed }) => replayed).length).toBeGreaterThan(0);
}, 600_000);
