import { translateFault } from '../commit-batch.ts';
import { type Connection, type ConnectionConfig, connectLater } from './connection.ts';
import { faultOfPostgres, isConnectionLost } from './faults.ts';

// biome-ignore lint/suspicious/noExplicitAny: a read takes what its own type says
type Reads = Record<string, (...args: any[]) => Promise<unknown>>;

/** The maximum number of connections that reads share. A further one is opened only if all others are busy. */
const MOST_CONNECTIONS = 8;

interface Line {
  db: Connection;
  reads: Reads;
  busy: number;
}

/** Reads over several connections. */
export interface ReadPool<R> {
  reads: R;
  close(): Promise<void>;
}

/**
 * Runs each read on the least busy connection. A read whose connection is lost is retried, at most once per possible
 * connection: a restart of the server closes all idle ones. A server that refuses connections ends the retries.
 */
export function createReadPool<R extends object>(
  config: ConnectionConfig,
  createReads: (db: Connection) => R,
): ReadPool<R> {
  const lines: Line[] = [addLine()];

  function addLine(): Line {
    const db = connectLater(config);
    return { db, reads: createReads(db) as Reads, busy: 0 };
  }

  function leastBusy(): Line {
    const least = lines.reduce((best, line) => (line.busy < best.busy ? line : best));
    if (least.busy === 0 || lines.length === MOST_CONNECTIONS) return least;
    const added = addLine();
    lines.push(added);
    return added;
  }

  async function ask(name: string, args: unknown[]): Promise<unknown> {
    const line = leastBusy();
    line.busy++;
    try {
      return await line.reads[name]?.(...args);
    } finally {
      line.busy--;
    }
  }

  async function read(name: string, args: unknown[]): Promise<unknown> {
    for (let tries = 1; ; tries++) {
      try {
        return await ask(name, args);
      } catch (error) {
        if (!isConnectionLost(error) || tries > MOST_CONNECTIONS)
          throw translateFault(error, faultOfPostgres);
      }
    }
  }

  const names = Object.keys(lines[0]?.reads ?? {});
  return {
    reads: Object.fromEntries(
      names.map((name) => [name, (...args: unknown[]) => read(name, args)]),
    ) as unknown as R,
    close: async () => void (await Promise.all(lines.map(({ db }) => db.close()))),
  };
}
