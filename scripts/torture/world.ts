import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { call } from './client.ts';
import type { Mood, Order, Told } from './receiver.ts';
import { createVictim, serverEnv, type Victim } from './server.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** Endpoints whose deliveries are counted, and those of another tenant that never answer. */
const COUNTED = 6;
const SICK = 20;
const DISK_MIB = 1_024;

export interface Receiver {
  url: string;
  mood(paths: string[], mood: Mood): void;
  secret(path: string, secret: string): void;
  /** How many different deliveries came. */
  count(): Promise<number>;
  tell(): Promise<Told>;
}

/** A tenant: its key, and the endpoints that it has. */
export interface Tenant {
  key: string;
  webhooks: string[];
}

/** Everything that is alive while it is tortured. */
export interface World {
  dataDir: string;
  /** True where the folder has a file system of its own, which may be filled. */
  ownDisk: boolean;
  victim: Victim;
  receiver: Receiver;
  /** Paths of the endpoints whose deliveries are counted. */
  paths: string[];
  counted: Tenant;
  /** Whose endpoints are sick, and who floods. */
  others: Tenant;
  /** Where the server's log lies. */
  notes: string;
  end(): Promise<void>;
}

export async function createWorld(): Promise<World> {
  const notes = mkdtempSync(join(tmpdir(), 'signalpost-torture-'));
  const dataDir = join(notes, 'data');
  mkdirSync(dataDir);
  writeFileSync(join(notes, 'clock'), '0');
  const ownDisk = mountDisk(dataDir);
  const [child, receiver] = await startReceiver();
  const victim = await createVictim({ dataDir, notes });
  const counted = await createTenant('counted', { dataDir, notes });
  const others = await createTenant('others', { dataDir, notes });
  await victim.start();
  const paths = Array.from({ length: COUNTED }, (_, n) => `/counted/${n}`);
  const sick = Array.from({ length: SICK }, (_, n) => `/sick/${n}`);
  receiver.mood(sick, 'stalled');
  counted.webhooks = await addWebhooks(victim.url, counted.key, { receiver, paths });
  others.webhooks = await addWebhooks(victim.url, others.key, { receiver, paths: sick });
  return {
    ...{ dataDir, ownDisk, victim, receiver, paths, counted, others, notes },
    async end() {
      await victim.stop();
      child.disconnect();
      if (ownDisk) spawnSync('umount', [dataDir]);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A disk in memory, small enough to be filled; only root may mount one. */
function mountDisk(dataDir: string): boolean {
  const args = ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m,mode=0700`, 'tmpfs', dataDir];
  return spawnSync('mount', args).status === 0;
}

async function startReceiver(): Promise<[ChildProcess, Receiver]> {
  const child = fork(new URL('./receiver.ts', import.meta.url), { serialization: 'advanced' });
  const [port] = await once(child, 'message');
  const order = (what: Order) => void child.send(what);
  const ask = async <T>(what: Order): Promise<T> => {
    const answer = once(child, 'message');
    order(what);
    return (await answer)[0] as T;
  };
  return [
    child,
    {
      url: `http://127.0.0.1:${port}`,
      mood: (paths, mood) => order({ do: 'mood', paths, mood }),
      secret: (path, secret) => order({ do: 'secret', path, secret }),
      count: () => ask<number>({ do: 'count' }),
      tell: () => ask<Told>({ do: 'tell' }),
    },
  ];
}

async function createTenant(name: string, folders: { dataDir: string; notes: string }): Promise<Tenant> {
  const env = serverEnv(folders, 0);
  const run = async (...args: string[]) => {
    const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`"${args.join(' ')}" ended with ${code}`);
    return JSON.parse(said);
  };
  const email = `${name}@example.com`;
  const named = ['--name', name, '--email', email, '--plan', 'enterprise', '--json'];
  const { tenant_id: tenant } = await run('tenant', 'create', ...named);
  const wide = ['--scopes', 'write', '--rate-limit', '1000000', '--json'];
  const { api_key: key } = await run('key', 'create', '--tenant', tenant, '--name', 'torture', ...wide);
  return { key, webhooks: [] };
}

async function addWebhooks(
  url: string,
  key: string,
  { receiver, paths }: { receiver: Receiver; paths: string[] },
): Promise<string[]> {
  const ids: string[] = [];
  for (const path of paths) {
    const terms = { retry_interval_seconds: 30, backoff: 'fixed', max_retries: 10, timeout_seconds: 5 };
    const input = { url: `${receiver.url}${path}`, rate_limit_per_minute: 1_000_000, ...terms };
    const response = await call(url, key, '/v1/webhooks', input);
    const { data } = (await response.json()) as { data: { id: string; secret: string } };
    receiver.secret(path, data.secret);
    ids.push(data.id);
  }
  return ids;
}
