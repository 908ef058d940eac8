import type { Clock } from '../../lib/clock.ts';
import { translateFault } from '../commit-batch.ts';
import { type Connection, type ConnectionConfig, connectLater } from './connection.ts';
import { codeOf, faultOfPostgres, isConnectionLost } from './faults.ts';

// biome-ignore lint/suspicious/noExplicitAny: a read takes what its own type says
type Reads = Record<string, (...args: any[]) => Promise<unknown>>;

/** The maximum number of connections that reads share. A further one is opened only if all others are busy. */
const MOST_CONNECTIONS = 8;
/** How long no further connection is opened after the server refused one because it has too many. */
const ENOUGH_MS = 10_000;
const TOO_MANY = '53300';

interface Line {
  db: Connection;
  reads: Reads;
  /** The tenant of each read in progress; '' if it concerns no single one. */
  owners: string[];
}

/** Reads over several connections. */
interface ReadPool<R> {
  reads: R;
  close(): Promise<void>;
}

/**
 * Runs each read on an idle connection, or the least busy one. A tenant takes another idle one only while more are idle than
 * it has: further reads of it follow its own, so that others need not wait for a tenant's slow reads. A read whose
 * connection is lost is retried, at most once per possible connection: a restart of the server closes all idle ones. A server
 * that refuses connections ends the retries, except if it has too many: the read then shares one of the others.
 */
export function createReadPool<R extends object>(
  config: ConnectionConfig,
  clock: Clock,
  createReads: (db: Connection) => R,
  onFault: (error: unknown) => void = () => undefined,
): ReadPool<R> {
  let lines: Line[] = [addLine()];
  let enoughUntil = Number.NEGATIVE_INFINITY;

  function addLine(): Line {
    const db = connectLater(config);
    return { db, reads: createReads(db) as Reads, owners: [] };
  }

  function lineFor(owner: string): Line {
    const own = owner === '' ? [] : lines.filter(({ owners }) => owners.includes(owner));
    const most = clock.monotonic() < enoughUntil ? lines.length : MOST_CONNECTIONS;
    const idle = lines.filter(({ owners }) => owners.length === 0);
    if (idle.length + most - lines.length <= own.length) return leastBusy(own.length > 0 ? own : lines);
    if (idle[0] !== undefined) return idle[0];
    const added = addLine();
    lines.push(added);
    return added;
  }

  async function ask(name: string, args: unknown[]): Promise<unknown> {
    const owner = ownerOf(args);
    const line = lineFor(owner);
    line.owners.push(owner);
    try {
      return await line.reads[name]?.(...args);
    } catch (error) {
      if (codeOf(error) !== TOO_MANY || !giveUp(line)) throw error;
    } finally {
      line.owners.splice(line.owners.indexOf(owner), 1);
    }
    return ask(name, args);
  }

  /** Goes on without a connection that the server refuses; returns false if there is no other. */
  function giveUp(refused: Line): boolean {
    const others = lines.filter((line) => line !== refused);
    if (others.length === 0) return false;
    lines = others;
    enoughUntil = clock.monotonic() + ENOUGH_MS;
    return true;
  }

  async function read(name: string, args: unknown[]): Promise<unknown> {
    for (let tries = 1; ; tries++) {
      try {
        return await ask(name, args);
      } catch (error) {
        if (isConnectionLost(error) && tries <= MOST_CONNECTIONS) continue;
        const translated = translateFault(error, faultOfPostgres);
        onFault(translated);
        throw translated;
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

function leastBusy(lines: readonly Line[]): Line {
  return lines.reduce((best, line) => (line.owners.length < best.owners.length ? line : best));
}

/** Reads have the tenant's ID, or an object with it, as their first parameter. */
function ownerOf([first]: readonly unknown[]): string {
  const id =
    typeof first === 'object' && first !== null && 'tenantId' in first ? first.tenantId : (first ?? '');
  return typeof id === 'string' && id.startsWith('ten_') ? id : '';
}
