import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/clock.ts';
import { createFairQueue } from '../../lib/queues.ts';
import { translateFault } from '../commit-batch.ts';
import { type Connection, type ConnectionConfig, connectLater } from './connection.ts';
import { codeOf, faultOfPostgres, isConnectionLost } from './faults.ts';

// biome-ignore lint/suspicious/noExplicitAny: a read takes what its own type says
type Reads = Record<string, (...args: any[]) => Promise<unknown>>;

/** The maximum number of connections for reads. A further one is opened only if all others are busy. */
const MOST_CONNECTIONS = 8;
/** The time that reads of a tenant took is halved every so often. One with more than `HEAVY_MS` leaves a connection to the others. */
const [HALF_MS, HEAVY_MS] = [2_000, 1_000];
const MOST_KNOWN = 10_000;
/** How long no further connection is opened after the server refused one because it has too many. */
const ENOUGH_MS = 10_000;
const TOO_MANY = '53300';

interface Line {
  db: Connection;
  reads: Reads;
  /** The tenant of the read in progress, '' if it concerns no single one; null: it is idle. */
  owner: string | null;
}

/** Reads over several connections. */
interface ReadPool<R> {
  reads: R;
  close(): Promise<void>;
}

/**
 * Runs one read at a time on each connection. The tenant whose recent reads took the least time is next. A tenant takes a further
 * connection only while more are free than it has, not counting the last one, which is for reads that concern no single tenant: they
 * are short, and every request needs one. So nobody waits in line behind another tenant's slow reads. A read whose connection is lost
 * is retried, at most once per possible connection: a restart of the server closes all idle ones. A server that refuses connections
 * ends the retries, except if it has too many: the read then waits for one of the others.
 */
export function createReadPool<R extends object>(
  config: ConnectionConfig,
  clock: Clock,
  createReads: (db: Connection) => R,
  onFault: (error: unknown) => void = () => undefined,
): ReadPool<R> {
  let lines: Line[] = [addLine()];
  let enoughUntil = Number.NEGATIVE_INFINITY;
  const waiting = createFairQueue<() => void>();
  const spent = new LRUCache<string, { ms: number; at: number }>({ max: MOST_KNOWN });

  function addLine(): Line {
    const db = connectLater(config);
    return { db, reads: createReads(db) as Reads, owner: null };
  }

  function spentMs(owner: string): number {
    const { ms, at } = spent.get(owner) ?? { ms: 0, at: 0 };
    return ms * 0.5 ** ((clock.monotonic() - at) / HALF_MS);
  }

  /** Null: it has to wait. */
  function rank(owner: string): number | null {
    const most = clock.monotonic() < enoughUntil ? lines.length : MOST_CONNECTIONS;
    let free = most;
    let own = 0;
    for (const line of lines) {
      if (line.owner !== null) free--;
      if (line.owner === owner) own++;
    }
    if (owner === '') return free > 0 ? -1 : null;
    const ms = spentMs(owner);
    const left = ms > HEAVY_MS ? 2 : 1;
    return free > own + Math.min(left, most - 1) ? ms : null;
  }

  function take(owner: string): Line {
    let line = lines.find((each) => each.owner === null);
    if (line === undefined) {
      line = addLine();
      lines.push(line);
    }
    line.owner = owner;
    return line;
  }

  function lineFor(owner: string): Line | Promise<Line> {
    if (rank(owner) !== null) return take(owner);
    return new Promise((resolve) => waiting.push(owner, () => resolve(take(owner))));
  }

  function leave(line: Line, since: number): void {
    const { owner } = line;
    line.owner = null;
    const now = clock.monotonic();
    if (owner) spent.set(owner, { ms: spentMs(owner) + now - since, at: now });
    for (let next = waiting.next(rank); next !== undefined; next = waiting.next(rank)) next();
  }

  async function ask(name: string, args: unknown[]): Promise<unknown> {
    const found = lineFor(ownerOf(args));
    const line = found instanceof Promise ? await found : found;
    const since = clock.monotonic();
    try {
      return await line.reads[name]?.(...args);
    } catch (error) {
      if (codeOf(error) !== TOO_MANY || !giveUp(line)) throw error;
    } finally {
      leave(line, since);
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

/** Reads have the tenant's ID, an object with it, or several such objects, as their first parameter. */
function ownerOf([given]: readonly unknown[]): string {
  const first: unknown = Array.isArray(given) ? given[0] : given;
  const id =
    typeof first === 'object' && first !== null && 'tenantId' in first ? first.tenantId : (first ?? '');
  return typeof id === 'string' && id.startsWith('ten_') ? id : '';
}
