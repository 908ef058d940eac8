import type { Dispatcher as Undici } from 'undici';
import type { Clock } from '../lib/clock.ts';
import type { Connect } from '../webhooks/connect.ts';
import { Connection, type ConnectionOwner, type RequestHandler } from './connection.ts';

/** A connection unused for this long is let go; receivers and undici close most of them sooner. */
const IDLE_MS = 90_000;

/** Kept-alive connections of each origin, shared by all endpoints of that origin. */
export interface Pools {
  dispatch(origin: string, request: Undici.DispatchOptions, handler: RequestHandler): void;
  /** Sends on a connection of its own, closed after the reply. */
  dispatchFresh(origin: string, request: Undici.DispatchOptions, handler: RequestHandler): void;
  /** Lets go of connections that nothing used for a while. */
  sweep(): void;
  /** Cuts everything off. */
  destroy(): Promise<void>;
}

/**
 * Their number is not limited here: the scheduler holds each endpoint to its own number in flight, and a limit shared by
 * an origin's endpoints would let one tenant's stalled requests hold up another tenant's on the same host.
 *
 * The connection that became free last is used first, so that no more are kept open than are needed.
 */
export function createPools(clock: Clock, connect: Connect): Pools {
  const all = new Set<Connection>();
  /** The free ones of an origin, the latest at the end. */
  const free = new Map<string, Connection[]>();

  const owner: ConnectionOwner = {
    onFree(connection) {
      connection.freeSince = clock.monotonic();
      const others = free.get(connection.origin);
      if (others === undefined) free.set(connection.origin, [connection]);
      else others.push(connection);
    },
    onGone(connection) {
      all.delete(connection);
      const others = free.get(connection.origin);
      const at = others?.lastIndexOf(connection) ?? -1;
      if (at !== -1) others?.splice(at, 1);
    },
  };
  const single: ConnectionOwner = {
    onFree: () => {},
    onGone: (connection) => void all.delete(connection),
  };

  function dial(origin: string, of: ConnectionOwner): Connection {
    const connection = new Connection(origin, connect, of);
    all.add(connection);
    return connection;
  }

  /** Those that were destroyed since will say themselves that they are gone. */
  function takeFree(origin: string): Connection | undefined {
    const connections = free.get(origin);
    let connection = connections?.pop();
    while (connection !== undefined && !connection.isOpen) connection = connections?.pop();
    return connection;
  }

  return {
    dispatch(origin, request, handler) {
      const connection = takeFree(origin) ?? dial(origin, owner);
      connection.dispatch(request, handler);
    },
    dispatchFresh(origin, request, handler) {
      const connection = dial(origin, single);
      connection.dispatch({ ...request, reset: true }, handler);
      connection.close();
    },
    sweep() {
      const before = clock.monotonic() - IDLE_MS;
      for (const [origin, connections] of free) {
        const used = connections.findIndex(({ freeSince }) => freeSince > before);
        const idle = connections.splice(0, used === -1 ? connections.length : used);
        for (const connection of idle) connection.close();
        if (connections.length === 0) free.delete(origin);
      }
    },
    async destroy() {
      free.clear();
      await Promise.all([...all].map((connection) => connection.destroy()));
    },
  };
}
