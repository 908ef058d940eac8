import { createServer, type Server } from 'node:http';
import type { Logger } from 'pino';
import { createProblems } from '../http/problems.ts';
import { pathOf } from '../http/request-path.ts';
import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { StoreOpenError } from '../store/errors.ts';

interface StandbyDeps {
  config: { host: string; port: number; baseUrl: string };
  clock: Clock;
  newId: NewId;
  logger: Pick<Logger, 'error' | 'info'>;
}

const RETRY_EVERY_MS = 1_000;
const RETRY_AFTER_SECONDS = '5';
const DETAIL = 'The storage is unreachable. The server keeps retrying; try again later.';

/**
 * Opens a storage that may be unreachable at first. Until it is open, every request to the server's address gets 503,
 * including `/ready`: a load balancer sends requests to other nodes, and nobody has to restart this one.
 * @throws the errors of `open`, except for an unreachable storage; the error of an unavailable port
 */
export async function openWhenReachable<T>(deps: StandbyDeps, open: () => Promise<T>): Promise<T> {
  const { clock, logger } = deps;
  const since = clock.monotonic();
  let server: Server | null = null;
  try {
    for (;;) {
      try {
        const opened = await open();
        if (server !== null) {
          const lastedMs = Math.round(clock.monotonic() - since);
          logger.info({ lasted_ms: lastedMs }, 'the storage is reachable');
        }
        return opened;
      } catch (error) {
        if (!(error instanceof StoreOpenError) || error.fault !== 'unreachable') throw error;
        if (server === null) {
          logger.error(`${error.message} Until then every request gets 503.`);
          server = await refuseAll(deps);
        }
      }
      await new Promise<void>((resolve) => void clock.after(RETRY_EVERY_MS, resolve));
    }
  } finally {
    if (server !== null) await close(server);
  }
}

async function refuseAll({ config, newId }: StandbyDeps): Promise<Server> {
  const problems = createProblems(config.baseUrl);
  const check = { ok: false, detail: 'the storage is unreachable' };
  const unready = JSON.stringify({ status: 'unready', checks: { store: check } });
  const server = createServer((request, response) => {
    const requestId = newId('req');
    const path = pathOf(request.url ?? '/');
    const { body } = problems.render({ code: 'UNAVAILABLE', detail: DETAIL }, { requestId, instance: path });
    response.writeHead(503, {
      'content-type': path === '/ready' ? 'application/json' : 'application/problem+json',
      'cache-control': 'no-store',
      'retry-after': RETRY_AFTER_SECONDS,
      'x-request-id': requestId,
      connection: 'close', // so that later requests reach the server itself
    });
    response.end(path === '/ready' ? unready : body);
    request.resume();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: config.host, port: config.port }, resolve);
  });
  return server;
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
