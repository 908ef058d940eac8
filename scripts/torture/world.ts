import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type PostgresServer, startPostgres } from '../../test/support/postgres.ts';
import { call } from './client.ts';
import type { Mood, Order, ReceiverReport } from './receiver.ts';
import { createVictim, serverEnv, type Victim, type VictimParts } from './server.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** Endpoints whose deliveries are counted, and those of another tenant, which never respond. */
const COUNTED = 6;
const SICK = 20;
const DISK_MIB = 1_024;

export interface Receiver {
  url: string;
  mood(paths: string[], mood: Mood): void;
  secret(path: string, secret: string): void;
  /** The number of distinct deliveries received. */
  count(): Promise<number>;
  report(): Promise<ReceiverReport>;
}

/** A tenant with its key and its endpoints. */
export interface Tenant {
  key: string;
  webhooks: string[];
}

/** Everything that runs during the test. */
export interface World {
  dataDir: string;
  /** Whether the folder is a separate file system, which may be filled. */
  ownDisk: boolean;
  /** All servers: one with SQLite, several with PostgreSQL. */
  nodes: readonly Victim[];
  /** One of them, a different one each time. */
  readonly victim: Victim;
  /** Null: the store is in the data folder. */
  postgres: PostgresServer | null;
  receiver: Receiver;
  /** The paths of endpoints whose deliveries are counted. */
  paths: string[];
  counted: Tenant;
  /** The tenant that has sick endpoints and sends floods. */
  others: Tenant;
  /** The folder of the server's log. */
  notes: string;
  end(): Promise<void>;
}

/** The settings with which nothing that was confirmed may be lost. */
const DURABLE = { fsync: 'on', full_page_writes: 'on', synchronous_commit: 'on', max_connections: '100' };

/** `nodes`: the number of servers with PostgreSQL; 0: one with SQLite. */
export async function createWorld(nodes: number): Promise<World> {
  const notes = mkdtempSync(join(tmpdir(), 'signalpost-torture-'));
  const dataDir = join(notes, 'data');
  mkdirSync(dataDir);
  writeFileSync(join(notes, 'clock'), '0');
  const postgres = nodes === 0 ? null : await startPostgres(DURABLE);
  const databaseUrl = postgres === null ? null : await urlOfNew(postgres);
  const ownDisk = postgres === null && mountDisk(dataDir);
  const parts = { dataDir, notes, databaseUrl };
  const [child, receiver] = await startReceiver();
  const all = await Promise.all(Array.from({ length: Math.max(1, nodes) }, () => createVictim(parts)));
  const counted = await createTenant('counted', parts);
  const others = await createTenant('others', parts);
  await Promise.all(all.map((node) => node.start()));
  const [first] = all;
  if (first === undefined) throw new Error('There is no server.');
  const paths = Array.from({ length: COUNTED }, (_, n) => `/counted/${n}`);
  const sick = Array.from({ length: SICK }, (_, n) => `/sick/${n}`);
  receiver.mood(sick, 'stalled');
  counted.webhooks = await addWebhooks(first.url, counted.key, { receiver, paths });
  others.webhooks = await addWebhooks(first.url, others.key, { receiver, paths: sick });
  let turn = 0;
  return {
    ...{ dataDir, ownDisk, postgres, receiver, paths, counted, others, notes },
    nodes: all,
    get victim() {
      return all[turn++ % all.length] ?? first;
    },
    async end() {
      await Promise.all(all.map((node) => node.stop()));
      await postgres?.[Symbol.asyncDispose]();
      child.disconnect();
      if (ownDisk) spawnSync('umount', [dataDir]);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function urlOfNew(server: PostgresServer): Promise<string> {
  const { host, user, database } = await server.createDatabase();
  return `postgres:///${database}?host=${encodeURIComponent(host)}&user=${user}`;
}

/** A small in-memory disk that can be filled; only root can mount one. */
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
      report: () => ask<ReceiverReport>({ do: 'report' }),
    },
  ];
}

async function createTenant(name: string, parts: VictimParts): Promise<Tenant> {
  const env = serverEnv(parts, 0);
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
