import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { createTenant } from '../accounts/tenants.ts';
import { inPackage } from '../lib/package.ts';
import { portOf } from './arguments.ts';
import { createDeliveryCount, type DeliveryCount } from './delivery-count.ts';
import { deliveryLines, isGenuine } from './delivery-lines.ts';
import { createDemoApi, type DemoApi } from './demo-api.ts';
import { curlCommand, signalLine } from './demo-lines.ts';
import { type DemoSite, startDemoSite } from './demo-site.ts';
import { showSources } from './demo-sources.ts';
import { CommandError, type Ports } from './ports.ts';
import { startReceiver } from './receiver.ts';

const SAMPLES = inPackage('data/samples.jsonl');
const USUAL_PORT = 3000;
const DELIVERY_TIMEOUT_MS = 60_000;

/** `demo`: the whole way of a post, from the HTTP API to a verified delivery, with nothing to configure. */
export function addDemo(parent: Command, ports: Ports): void {
  parent
    .command('demo')
    .description('show sample posts scored and delivered, with nothing to configure')
    .option('--once', 'end when all sample deliveries have come')
    .option('--sources', 'read sources too, live, from a small site on this machine')
    .action((options: DemoOptions) => demo(ports, options));
}

interface DemoOptions {
  once?: true;
  sources?: true;
}

/** What has been opened so far, to be undone in reverse order however the demo ends. */
type Undo = (() => Promise<unknown>)[];

async function demo(ports: Ports, options: DemoOptions): Promise<void> {
  const undo: Undo = [];
  // One ending, whoever asks first: the demo itself, a fault, or Ctrl-C.
  let ending: Promise<void> | null = null;
  const end = () => {
    ending ??= undoAll(undo);
    return ending;
  };
  ports.onStop(async () => {
    ports.out('Stopping; the data of the demo is removed.');
    await end();
  });
  try {
    await show(ports, undo, options);
    if (options.once) await end();
  } catch (error) {
    await end();
    throw error;
  }
}

async function undoAll(undo: Undo): Promise<void> {
  for (const step of undo.toReversed()) await step();
}

async function show(ports: Ports, undo: Undo, { once, sources }: DemoOptions): Promise<void> {
  const count = createDeliveryCount(ports.clock, DELIVERY_TIMEOUT_MS);
  let secret: string | null = null;
  const receiver = await startReceiver({
    port: 0,
    clock: ports.clock,
    secret: () => secret,
    status: 200,
    delayMs: 0,
    onDelivery(delivery) {
      for (const line of deliveryLines(delivery)) ports.out(`     → ${line}`);
      if (isGenuine(delivery)) count.add();
    },
  });
  undo.push(() => receiver.close());
  const site = sources ? await openSite(ports, undo) : null;
  const { url, apiKey } = await startDemoServer(ports, undo, site);
  const api = createDemoApi({ clock: ports.clock, url, apiKey });
  secret = await api.createWebhook(receiver.url);

  ports.out(`The server is at ${url}; a receiver at ${receiver.url} takes its warm and hot signals.\n`);
  await observeSamples(ports, api, count);
  if (site !== null) await showSources({ clock: ports.clock, api, site, count, out: ports.out });
  await count.complete();
  ports.out(`\nAll ${count.expected()} deliveries of warm and hot signals came and were verified.`);
  if (once) return;
  ports.out(`\nPost one more, and see it delivered here:\n\n${curlCommand(url, apiKey)}\n`);
  ports.out(`Signals so far: ${url}/v1/signals (with the same Authorization header). Ctrl-C ends.\n`);
}

async function openSite(ports: Ports, undo: Undo): Promise<DemoSite> {
  const site = await startDemoSite(ports.clock, (line) => ports.out(`     ← ${line}`));
  undo.push(() => site.close());
  return site;
}

async function startDemoServer(
  ports: Ports,
  undo: Undo,
  site: DemoSite | null,
): Promise<{ url: string; apiKey: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'signalpost-demo-'));
  undo.push(() => rm(folder, { recursive: true, force: true }));
  const port = await demoPort(ports.env);
  const env = {
    HOST: '127.0.0.1',
    PORT: String(port),
    BASE_URL: `http://127.0.0.1:${port}`,
    DATA_DIR: folder,
    WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8,::1/128',
    ...(site && { SOURCE_SITES: JSON.stringify({ lever: site.url }) }),
  };
  const opened = await ports.open({ env, log: 'faults', takesPosts: true });
  try {
    const account = { name: 'Demo', email: 'owner@demo.example', plan: 'trial' } as const;
    const { apiKey } = await createTenant(opened, account);
    const server = await opened.start();
    undo.push(() => server.stop());
    return { url: server.url, apiKey };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function observeSamples(ports: Ports, api: DemoApi, count: DeliveryCount): Promise<void> {
  const posts = (await readFile(SAMPLES, 'utf8')).split('\n').filter((line) => line.trim() !== '');
  for (const post of posts) {
    const signal = await api.observe(post);
    if (signal.classification !== 'cold') count.expect();
    ports.out(signalLine(signal));
  }
}

/** PORT where it is set, whose start says so if it is taken; else the usual port where that is free, else any. */
async function demoPort(env: NodeJS.ProcessEnv): Promise<number> {
  const wanted = portOf(env) ?? 0;
  if (wanted !== 0) return wanted;
  return (await tryPort(USUAL_PORT)) ?? (await tryPort(0)) ?? fail('No port is free on 127.0.0.1.');
}

function tryPort(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(null));
    probe.listen(port, '127.0.0.1', () => {
      const { port: got } = probe.address() as AddressInfo;
      probe.close(() => resolve(got));
    });
  });
}

function fail(message: string): never {
  throw new CommandError(message);
}
