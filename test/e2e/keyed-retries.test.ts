import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { call } from '../support/counting-receiver.ts';
import { freePort, runCommand, serverEnv, startServerProcess } from '../support/server-process.ts';

const KILLS = 12;
const CLIENTS = 8;
/** Another place each time, in the middle of what the clients send: a prime step keeps the places apart. */
const answersBeforeKill = (round: number) => 5 + ((round * 577) % 61);

interface Answer {
  data?: { signals: { signal_id: string }[] };
}

/** What a client heard of one post, one answer for each time that it was sent. */
type Heard = { key: string; statuses: number[]; signalId: string; replayed: boolean };

test('posts that are sent again under their key after kill -9 are each stored once, and never told to wait', async () => {
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

  /** Without address and external id: the same text is another signal each time that it is taken. */
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

  /** Sends until it is answered; an answer cut off half way counts as none. */
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
  // Else no kill met a post between its commit and its answer, and nothing was tried.
  expect(heard.filter(({ replayed }) => replayed).length).toBeGreaterThan(0);
}, 600_000);
