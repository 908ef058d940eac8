import { readFileSync } from 'node:fs';
import { startPostgres } from '../../test/support/postgres.ts';
import { processorMs } from '../way/sending.ts';

/** As a server is set up whose machine is its own: what is committed is on the disk. */
const DURABLE = {
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  max_connections: '100',
  deadlock_timeout: '1s',
  shared_buffers: '256MB',
  max_wal_size: '4GB',
};

/** A database, by its name and as DATABASE_URL names it. */
export interface BenchDatabase {
  name: string;
  url: string;
}

/** A server of PostgreSQL for a bench. */
export interface Cluster {
  /** A new database: empty, or as `template` is. */
  create(template?: BenchDatabase): Promise<BenchDatabase>;
  /** Milliseconds of processor time of each of its processes so far. */
  processorMs(): Map<number, number>;
  end(): Promise<void>;
}

export async function startCluster(): Promise<Cluster> {
  const server = await startPostgres(DURABLE);
  return {
    async create(template) {
      const { host, user, database } = await server.createDatabase(template?.name);
      return {
        name: database,
        url: `postgres:///${database}?host=${encodeURIComponent(host)}&user=${user}`,
      };
    },
    processorMs() {
      const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8');
      const pids = children
        .split(' ')
        .map(Number)
        .filter((pid) => pid > 0);
      return new Map(pids.flatMap((pid) => timeOf(pid)));
    },
    end: async () => void (await server[Symbol.asyncDispose]()),
  };
}

/** Nothing where the process has ended since. */
function timeOf(pid: number): [number, number][] {
  try {
    return [[pid, processorMs(pid)]];
  } catch {
    return [];
  }
}
