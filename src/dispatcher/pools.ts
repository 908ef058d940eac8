import type { Socket } from 'node:net';
import { Client, Pool, type Dispatcher as Undici } from 'undici';
import type { Clock } from '../lib/clock.ts';
import type { Connect, Dial } from '../webhooks/connect.ts';
import { ConnectError } from '../webhooks/connect-error.ts';

/** Idle time after which an unused connection is closed, unless the receiver names a shorter one. */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE_MAX_MS = 60_000;
/** A pool unused for this long is forgotten; its connections are closed by then. */
const IDLE_POOL_MS = 90_000;
const MAX_REPLY_HEAD_BYTES = 16_384;
/**
 * What a reply may be on the wire, whatever its parts. Only a body's bytes come to the handler: status lines, interim
 * replies and chunk extensions have no end for undici's parser, and were read at 150 MB/s until the time limit. As much as
 * 40 KB of body in chunks of one byte, which is more than is kept.
 */
const MAX_REPLY_BYTES = 262_144;

/** A request as the pools know it: undici's handler, told when a connection is made for it. */
export interface PooledHandler extends Undici.DispatchHandler {
  /** A connection is being made for this request; without this call it goes out on one that was used before. */
  onDial(dial: Dial): void;
  /** The connection stands. */
  onConnected(): void;
}

/** Kept-alive connections, a pool per origin, shared by all endpoints of that origin. */
export interface Pools {
  dispatch(origin: string, request: Undici.DispatchOptions, handler: PooledHandler): void;
  /** Sends on a connection of its own, closed after the reply. */
  dispatchFresh(origin: string, request: Undici.DispatchOptions, handler: PooledHandler): void;
  /** Closes pools that nothing used for a while. */
  sweep(): void;
  /** Cuts everything off. */
  destroy(): Promise<void>;
}

/**
 * `connections` is not limited here: the scheduler holds each endpoint to its own number in flight, and a limit shared by
 * an origin's endpoints would let one tenant's stalled requests hold up another tenant's on the same host.
 */
export function createPools(clock: Clock, connect: Connect): Pools {
  const pools = new Map<string, { pool: Pool; usedAt: number }>();
  const fresh = new Set<Client>();

  const options = {
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
    maxHeaderSize: MAX_REPLY_HEAD_BYTES,
    // One deadline of our own covers the whole request; undici's timers are too coarse for it and measure gaps only.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  };

  /** A client that tells its request when it dials: with `pipelining` 1 it has one request at a time. */
  function createClient(origin: string | URL): Client {
    let current: PooledHandler | null = null;
    let connection: Socket | null = null;
    let readBefore = 0;
    const client = new Client(origin, {
      ...options,
      connect(target, callback) {
        const handler = current;
        const dial = connect(target, (error, socket) => {
          if (error !== null) {
            callback(error, null);
            return;
          }
          handler?.onConnected();
          callback(null, socket);
          readBefore = socket.bytesRead;
          connection = socket.on('readable', () => {
            if (socket.bytesRead - readBefore > MAX_REPLY_BYTES)
              socket.destroy(new ConnectError('invalid_response'));
          });
        });
        handler?.onDial(dial);
      },
    });
    const dispatch = client.dispatch.bind(client);
    client.dispatch = (request, handler) => {
      current = handler as PooledHandler;
      readBefore = connection?.bytesRead ?? 0;
      return dispatch(request, handler);
    };
    return client;
  }

  return {
    dispatch(origin, request, handler) {
      let entry = pools.get(origin);
      if (entry === undefined) {
        entry = { pool: new Pool(origin, { ...options, factory: createClient }), usedAt: 0 };
        pools.set(origin, entry);
      }
      entry.usedAt = clock.monotonic();
      entry.pool.dispatch(request, handler);
    },
    dispatchFresh(origin, request, handler) {
      const client = createClient(origin);
      fresh.add(client);
      client.dispatch({ ...request, reset: true }, handler);
      const forget = () => void fresh.delete(client);
      client.close().then(forget, forget);
    },
    sweep() {
      const before = clock.monotonic() - IDLE_POOL_MS;
      for (const [origin, { pool, usedAt }] of pools) {
        if (usedAt > before) continue;
        pools.delete(origin);
        pool.close().catch(() => {}); // waits for what is in flight; fails only where it was destroyed meanwhile
      }
    },
    async destroy() {
      const all = [...[...pools.values()].map((entry) => entry.pool), ...fresh];
      pools.clear();
      await Promise.all(all.map((client) => client.destroy()));
    },
  };
}
