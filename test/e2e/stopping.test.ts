import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { createTenant } from '../../src/accounts/tenants.ts';
import { loadConfig } from '../../src/config.ts';
import { openRuntime, startServer } from '../../src/runtime.ts';
import { settle } from '../dispatcher/harness.ts';
import { tempFolder } from '../store/sqlite/temp-folder.ts';
import { call, postSignals } from '../support/counting-receiver.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { startReceiver } from '../support/receiver.ts';
import { freePort, serverEnv } from '../support/server-process.ts';
import { aSite } from '../support/site-content.ts';

/** The longest timeout of a request: a shorter drain would interrupt attempts that a receiver may still accept. */
const SLOWEST_MS = 30_000;

test('a stopping server completes the slowest attempt in flight, and records it', async () => {
  const open: ServerResponse[] = [];
  const receiver = await startReceiver((response) => void open.push(response));
  const config = loadConfig(serverEnv(tempFolder(), await freePort()));
  const clock = createManualClock(Date.now());
  const runtime = { ...(await openRuntime(config)), clock };
  const server = await startServer(runtime, aSite());
  const owner = { name: 'Stopping', email: 's@example.com', plan: 'pro' } as const;
  const { tenant, apiKey } = await createTenant(runtime, owner);
  await call(server.url, apiKey, '/v1/webhooks', { url: receiver.url });
  await postSignals(server.url, apiKey, ['https://forum.example/1']);
  await receiver.received(1);

  let stopped = false;
  const stopping = server.stop().then(() => {
    stopped = true;
  });
  clock.advance(SLOWEST_MS - 1);
  await settle(200);
  expect(stopped).toBe(false);
  open[0]?.writeHead(200).end();
  await stopping;

  const next = await openRuntime(config);
  const id = String(receiver.requests[0]?.headers['webhook-id']);
  expect(await next.store.getDelivery(tenant.id, id)).toMatchObject({ status: 'delivered', attemptCount: 1 });
  await next.close();
  await receiver.close();
});
