import { readFileSync } from 'node:fs';
import { startPostgres } from '../../test/support/postgres.ts';
import { processorMs } from '../way/sending.ts';

/** The settings of a server on a dedicated machine: commits are durable. */
const DURABLE = {
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  max_connections: '100',
  deadlock_timeout: '1s',
  shared_buffers: '256MB',
  max_wal_size: '4GB',
};

/** A database, by its name and its DATABASE_URL. */
export interface BenchDatabase {
  name: string;
  url: string;
}

/** A PostgreSQL server for a benchmark. */
export interface Cluster {
  /** Creates a database: empty, or a copy of `template`. */
  create(template?: BenchDatabase): Promise<BenchDatabase>;
  /** CPU time of each of its processes so far, in milliseconds. */
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

/** Nothing if the process has exited. */
function timeOf(pid: number): [number, number][] {
  try {
    return [[pid, processorMs(pid)]];
  } catch {
    return [];
  }
}
