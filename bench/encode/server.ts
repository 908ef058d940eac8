import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { newKey } from '../../src/accounts/keys.ts';
import { createTenant } from '../../src/accounts/tenants.ts';
import { buildApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { prepareEngine } from '../../src/engine.ts';
import { SCOPES } from '../../src/model/key.ts';
import { openRuntime } from '../../src/runtime.ts';
import { loadSiteContent } from '../../src/site/content/site-content.ts';

/** Orders for the server: open with the encoder on or off, or report its memory. */
export type Order = { open: 'auto' | 'off' } | { memory: true };

export interface Opened {
  url: string;
  apiKey: string;
  encoder: 'on' | 'off';
}

/** Limits are checked as for every key and tenant, but never reached here. */
const UNLIMITED = 1_000_000;

const OFFER = 'A help desk and shared inbox for customer support teams of online shops';

const folder = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
prepareEngine(); // as the server does
process.on('message', (order: Order) => {
  void answer(order).then((said) => process.send?.(said));
});
process.on('disconnect', () => {
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
});
process.send?.('ready');

async function answer(order: Order): Promise<Opened | number> {
  return 'open' in order ? await open(order.open) : process.memoryUsage().rss;
}

async function open(mode: 'auto' | 'off'): Promise<Opened> {
  const config = loadConfig({ DATA_DIR: folder, SIGNAL_ENCODER: mode });
  // Log lines are created as in production, and discarded.
  const logger = pino({ level: 'info' }, new Writable({ write: (_chunk, _encoding, done) => done() }));
  const runtime = await openRuntime(config, { writerThread: true, logger });
  const account = { name: 'Bench', email: 'bench@example.com', plan: 'enterprise' as const };
  const { tenant } = await createTenant(runtime, account);
  const made = newKey(runtime, {
    tenantId: tenant.id,
    name: 'Bench',
    scopes: [...SCOPES],
    rateLimit: UNLIMITED,
  });
  await runtime.store.createKey(made.key, 100);
  const app = buildApp({
    ...runtime,
    content: await loadSiteContent(config),
    tenantLimit: () => UNLIMITED,
    sendTest: () => Promise.reject(new Error('there is no dispatcher here')),
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  await addProfile(url, made.apiKey);
  return { url, apiKey: made.apiKey, encoder: runtime.encoder === null ? 'off' : 'on' };
}

/** Like most accounts, a profile drafted from one line, with whose offer the second encoder compares posts. */
async function addProfile(url: string, apiKey: string): Promise<void> {
  const call = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return ((await answer.json()) as { data: object }).data;
  };
  await call('/v1/icps', await call('/v1/icps/draft', { offer: OFFER }));
}
