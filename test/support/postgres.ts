import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, globSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { type Connection, connect } from '../../src/store/postgres/connection.ts';

/** The folder of PostgreSQL's programs, which Debian does not add to PATH. Null if it is not installed. */
const PROGRAMS = findPrograms();

function findPrograms(): string | null {
  const inPath = (process.env.PATH ?? '').split(':').find((folder) => existsSync(join(folder, 'postgres')));
  // A link leads to where the others are.
  if (inPath !== undefined) return dirname(realpathSync(join(inPath, 'postgres')));
  const found = globSync('/usr/lib/postgresql/*/bin/postgres').sort().at(-1);
  return found === undefined ? null : dirname(found);
}

/** Whether tests on PostgreSQL are skipped because it is not installed. In CI they fail instead. */
export function mayLackPostgres(): boolean {
  if (PROGRAMS === null && !process.env.CI) {
    console.warn('PostgreSQL is not installed (apt-get install postgresql): its tests are skipped.');
  }
  return PROGRAMS === null && !process.env.CI;
}

/** A PostgreSQL server with its files in a temporary folder, listening on a socket there. */
export interface PostgresServer extends AsyncDisposable {
  /** The main process, which forks one for each connection. */
  readonly pid: number;
  /** The main process and all that it has forked. */
  processes(): number[];
  /** Stops it, by SIGINT like an operator or by SIGQUIT like a crash, and restarts it after this time. */
  restart(signal: 'SIGINT' | 'SIGQUIT', downMs: number): Promise<void>;
  /** A new database: empty, or a copy of `template`, which must not be in use. */
  createDatabase(template?: string): Promise<{ host: string; user: string; database: string }>;
  /** Runs one of PostgreSQL's own programs to its end. @throws if it does not exit 0 */
  runProgram(name: 'pg_dump' | 'pg_restore', args: readonly string[]): void;
  /** Stops it like an operator, closing every connection; resolves when the process has ended. */
  stop(): Promise<void>;
  /** Restarts it with the same files. */
  start(): Promise<void>;
}

/** The `DATABASE_URL` of a database. */
export function databaseUrl(config: { host: string; user: string; database: string }): string {
  return `postgres:///${config.database}?host=${config.host}&user=${config.user}`;
}

const USER = 'signalpost';
/** Durability is not needed: the folder is temporary. */
const SETTINGS = {
  listen_addresses: '',
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  max_connections: '20',
  // How long a transaction waits for a lock before it checks for a deadlock.
  deadlock_timeout: '50ms',
  shared_buffers: '32MB',
};

/** `changes`: settings that differ from the defaults for tests. */
export async function startPostgres(changes: Record<string, string> = {}): Promise<PostgresServer> {
  if (PROGRAMS === null) throw new Error('PostgreSQL is not installed (apt-get install postgresql).');
  const programs = PROGRAMS;
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-postgres-'));
  const files = join(folder, 'data');
  const account = unprivileged();
  if (account !== null) chownSync(folder, account.uid, account.gid);
  // A linguistic collation, as on most servers: statements that need byte order must say so.
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
    processes: () => [server.pid ?? 0, ...childrenOf(server.pid)],
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
    runProgram(name, args) {
      execFileSync(join(programs, name), args, { stdio: ['ignore', 'ignore', 'inherit'] });
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

/**
 * PostgreSQL refuses to run as root: the account of its package, or `nobody`. Null if the current user is suitable.
 */
function unprivileged(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const [, , uid, gid] =
    accounts.find(([name]) => name === 'postgres') ?? accounts.find(([name]) => name === 'nobody') ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

/** Connects as soon as the server accepts connections. */
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

function childrenOf(pid: number | undefined): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.split(' ').filter(Boolean).map(Number);
}
