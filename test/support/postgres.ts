import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { type Connection, connect } from '../../src/store/postgres/connection.ts';

/** The folder of PostgreSQL's programs: Debian keeps them out of PATH. Null where there are none. */
const PROGRAMS = findPrograms();

function findPrograms(): string | null {
  const inPath = (process.env.PATH ?? '').split(':').find((folder) => existsSync(join(folder, 'postgres')));
  if (inPath !== undefined) return inPath;
  const found = globSync('/usr/lib/postgresql/*/bin/postgres').sort().at(-1);
  return found === undefined ? null : dirname(found);
}

/** Whether tests of the store on PostgreSQL are skipped, as there is none on this machine. In CI they fail instead. */
export function mayLackPostgres(): boolean {
  if (PROGRAMS === null && !process.env.CI) {
    console.warn('PostgreSQL is not installed (apt-get install postgresql): its tests are skipped.');
  }
  return PROGRAMS === null && !process.env.CI;
}

/** A server of its own, with its files in a temporary folder, reached through a socket there. */
export interface PostgresServer extends AsyncDisposable {
  /** The first process, which starts one for each connection. */
  readonly pid: number;
  /** Ends it, by SIGINT as an operator does or by SIGQUIT as a crash does, and starts it again after so long. */
  restart(signal: 'SIGINT' | 'SIGQUIT', downMs: number): Promise<void>;
  /** A new database: empty, or as `template` is, which nobody may be using. */
  createDatabase(template?: string): Promise<{ host: string; user: string; database: string }>;
  /** Ends it as an operator does, with every connection; resolves when it is gone. */
  stop(): Promise<void>;
  /** Starts it again, with the same files. */
  start(): Promise<void>;
}

/** A database as DATABASE_URL names it. */
export function databaseUrl(config: { host: string; user: string; database: string }): string {
  return `postgres:///${config.database}?host=${config.host}&user=${config.user}`;
}

const USER = 'signalpost';
/** What it would keep safe need not be: the folder goes with it. */
const SETTINGS = {
  listen_addresses: '',
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  max_connections: '20',
  // How long a transaction waits before it looks whether those that it waits for wait for it.
  deadlock_timeout: '50ms',
  shared_buffers: '32MB',
};

/** `changes`: settings other than those of tests. */
export async function startPostgres(changes: Record<string, string> = {}): Promise<PostgresServer> {
  if (PROGRAMS === null) throw new Error('PostgreSQL is not installed (apt-get install postgresql).');
  const programs = PROGRAMS;
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-postgres-'));
  const files = join(folder, 'data');
  const account = unprivileged();
  if (account !== null) chownSync(folder, account.uid, account.gid);
  // Text is ordered by a language here, as on most servers: what has to be ordered by bytes must say so.
  const collation = ['--encoding=UTF8', '--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en-US'];
  execFileSync(
    join(programs, 'initdb'),
    ['-D', files, '-U', USER, '-A', 'trust', '--no-sync', '--no-instructions', ...collation],
    { ...account, cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const settings = Object.entries({ ...SETTINGS, ...changes }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const launch = () =>
    spawn(join(programs, 'postgres'), ['-D', files, '-k', folder, ...settings], {
      ...account,
      cwd: folder,
      stdio: 'ignore',
    });
  let server = launch();
  const endWithUs = () => server.kill('SIGQUIT');
  process.once('exit', endWithUs);
  const admin = await reach(server, { host: folder, user: USER, database: 'postgres' });
  let databases = 0;

  async function stop(signal: NodeJS.Signals): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    server.kill(signal);
    await ended;
  }

  async function start(): Promise<void> {
    server = launch();
    await (await reach(server, { host: folder, user: USER, database: 'postgres' })).close();
  }

  return {
    get pid() {
      return server.pid ?? 0;
    },
    async restart(signal, downMs) {
      await stop(signal);
      await later(downMs);
      await start();
    },
    async createDatabase(template = 'template1') {
      const database = `test_${++databases}`;
      await admin.execute(`CREATE DATABASE ${database} TEMPLATE ${template}`);
      return { host: folder, user: USER, database };
    },
    stop: () => stop('SIGINT'),
    start,
    async [Symbol.asyncDispose]() {
      await admin.close();
      await stop('SIGQUIT');
      process.off('exit', endWithUs);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL refuses to be run by root: the account that its package made, or the one that owns nothing. Null: our own will do. */
function unprivileged(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const [, , uid, gid] =
    accounts.find(([name]) => name === 'postgres') ?? accounts.find(([name]) => name === 'nobody') ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

/** Connects as soon as it takes connections. */
async function reach(
  server: ChildProcess,
  config: { host: string; user: string; database: string },
): Promise<Connection> {
  const until = Date.now() + 30_000;
  for (;;) {
    try {
      return await connect(config);
    } catch (error) {
      if (Date.now() > until || server.exitCode !== null) throw error;
      await later(50);
    }
  }
}
