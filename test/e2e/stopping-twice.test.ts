import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { createTenant } from '../../src/accounts/tenants.ts';
import { loadConfig } from '../../src/config.ts';
import { openRuntime } from '../../src/runtime.ts';
import { type Running, start, startScript, temporaryFolder } from '../cli/process.ts';
import { call, postSignals } from '../support/counting-receiver.ts';
import { startReceiver } from '../support/receiver.ts';
import { serverEnv } from '../support/server-process.ts';

const OWNER = { name: 'Stopping', email: 's@example.com', plan: 'pro' } as const;

const STOPS: [string, (env: NodeJS.ProcessEnv) => Running, (server: Running) => void][] = [
  ['twice', (env) => start(['serve'], env), (server) => server.kill('SIGTERM')],
  [
    'to the whole group that npm start makes',
    (env) => startScript('start', env, true),
    (server) => server.killGroup('SIGTERM'),
  ],
];

test.for(STOPS)(
  'SIGTERM %s completes the attempt in flight, and records it',
  { timeout: 60_000 },
  async (stops) => {
    const [, startServer, stop] = stops;
    using folder = temporaryFolder();
    const env = serverEnv(folder.path, 0);
    const open: ServerResponse[] = [];
    const receiver = await startReceiver((response) => void open.push(response));
    const before = await openRuntime(loadConfig(env));
    const { tenant, apiKey } = await createTenant(before, OWNER);
    await before.close();

    await using server = startServer(env);
    const [, url = ''] = await server.said(/listens at (http\S+)/);
    await call(url, apiKey, '/v1/webhooks', { url: receiver.url });
    await postSignals(url, apiKey, ['https://forum.example/1']);
    await receiver.received(1);
    stop(server);
    await expect.poll(() => isListening(url), { timeout: 15_000 }).toBe(false);
    stop(server);
    await isListening(url); // after a round trip, that signal has been handled, too
    open[0]?.writeHead(200).end();
    const { code, stderr } = await server.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });

    const after = await openRuntime(loadConfig(env));
    const id = String(receiver.requests[0]?.headers['webhook-id']);
    expect(await after.store.getDelivery(tenant.id, id)).toMatchObject({
      status: 'delivered',
      attemptCount: 1,
    });
    await after.close();
    await receiver.close();
  },
);

function isListening(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  );
}
