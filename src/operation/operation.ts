import { createHash, timingSafeEqual } from 'node:crypto';
import { BlockList, isIPv6 } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { DispatcherPulse } from '../dispatcher/dispatcher.ts';
import { type Problems, sendAsIs } from '../http/problems.ts';
import type { Clock } from '../lib/clock.ts';
import { shared } from '../lib/yielding.ts';
import { MOST_SKEW_MS } from '../store/figures.ts';
import type { OpenedStore } from '../store/store.ts';
import { createMetrics, type Metrics, type MetricsDeps } from './metrics.ts';

interface OperationDeps extends Omit<MetricsDeps, 'store'>, ReadinessDeps {
  store: MetricsDeps['store'] & ReadinessDeps['store'];
  problems: Problems;
  /** ADMIN_METRICS_TOKEN. */
  token: string | null;
}

const RETRY_AFTER_SECONDS = '5';

/**
 * Endpoints for monitoring: `/metrics` and `/ready`. Without API keys and limits; from this machine or with the token
 * only.
 */
export async function operation(app: FastifyInstance, deps: OperationDeps): Promise<void> {
  const { problems } = deps;
  const refusal = createAdmission(deps.token);
  let metrics: Metrics | null = null;
  const look = createReadiness(deps);

  app.addHook('onRequest', (request, reply, done) => {
    reply.header('cache-control', 'no-store');
    const detail = refusal(request);
    if (detail === null) done();
    else problems.send(request, reply, { code: 'UNAUTHENTICATED', detail });
  });

  app.get('/metrics', async (_request, reply) => {
    // Process metrics (event loop, garbage collection) are collected from the first request on.
    metrics ??= createMetrics(deps);
    return sendAsIs(reply, metrics.contentType, await metrics.text());
  });
  app.get('/ready', async (_request, reply) => {
    const readiness = await look();
    if (readiness.status === 'unready') reply.code(503).header('retry-after', RETRY_AFTER_SECONDS);
    return sendAsIs(reply, 'application/json', JSON.stringify(readiness));
  });
}

interface ReadinessDeps {
  clock: Clock;
  store: Pick<OpenedStore, 'probe' | 'pulse'>;
  dispatcher: (() => DispatcherPulse) | null;
}

/** The result of one check, with the problem if it failed. */
type Check = { ok: true } | { ok: false; detail: string };

interface Readiness {
  status: 'ready' | 'unready';
  checks: Record<'store' | 'disk' | 'writer' | 'dispatcher', Check> & { clock?: Check };
}

/** A change takes milliseconds; if one takes longer than this, requests are better served elsewhere. */
const WRITE_WITHIN_MS = 3_000;
/** The maximum size of the write-ahead log before writes are refused, with some margin. */
const LEAST_FREE_BYTES = 32 * 1024 * 1024;

const OK: Check = { ok: true };

/** Checks whether the server can do its work now, with a real write. Concurrent checks share one result, and continue in turns. */
export function createReadiness(deps: ReadinessDeps): () => Promise<Readiness> {
  let underWay: Promise<Readiness> | null = null;

  async function look(): Promise<Readiness> {
    const checks = {
      store: await canWrite(deps),
      disk: hasRoom(deps),
      writer: writes(deps),
      dispatcher: delivers(deps),
      ...clockCheck(deps),
    };
    const well = Object.values(checks).every(({ ok }) => ok);
    return { status: well ? 'ready' : 'unready', checks };
  }

  return () => {
    underWay ??= look().finally(() => {
      underWay = null;
    });
    return shared(underWay);
  };
}

/** Only if there is another clock to compare with. */
function clockCheck({ store }: ReadinessDeps): { clock?: Check } {
  const { clockSkewMs } = pulseOf(store);
  if (clockSkewMs === null) return {};
  if (Math.abs(clockSkewMs) <= MOST_SKEW_MS) return { clock: OK };
  const seconds = (Math.abs(clockSkewMs) / 1_000).toFixed(1);
  const side = clockSkewMs > 0 ? 'ahead of' : 'behind';
  return { clock: failed(`the clock is ${seconds} s ${side} the database server's; synchronize both`) };
}

function canWrite({ store, clock }: ReadinessDeps): Promise<Check> {
  return new Promise((resolve) => {
    const seconds = WRITE_WITHIN_MS / 1_000;
    const late = clock.after(WRITE_WITHIN_MS, () =>
      resolve(failed(`no change was stored within ${seconds} s`)),
    );
    const settle = (check: Check) => {
      late.cancel();
      resolve(check);
    };
    store.probe().then(
      () => settle(OK),
      (error: unknown) => settle(failed(error instanceof Error ? error.message : 'the storage failed')),
    );
  });
}

function hasRoom({ store }: ReadinessDeps): Check {
  let free: number | null;
  try {
    free = store.pulse().freeBytes;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error;
    return failed(`the data folder cannot be read (${code})`);
  }
  if (free === null || free >= LEAST_FREE_BYTES) return OK;
  return failed(`${Math.floor(free / 1024 / 1024)} MiB are free under DATA_DIR; make room`);
}

function writes({ store }: ReadinessDeps): Check {
  const { accepting, queueLength, queueLimit } = pulseOf(store);
  if (!accepting) return failed('nothing can be stored any more; the server is stopping');
  return queueLength < queueLimit ? OK : failed(`${queueLength} changes wait to be stored`);
}

/** Without the file system, which is checked above. */
function pulseOf(store: ReadinessDeps['store']) {
  try {
    return store.pulse();
  } catch {
    return { accepting: true, queueLength: 0, queueLimit: 1, clockSkewMs: null };
  }
}

function delivers({ dispatcher }: ReadinessDeps): Check {
  const stuck = dispatcher?.().stuck ?? null;
  return stuck === null ? OK : failed(stuck);
}

function failed(detail: string): Check {
  return { ok: false, detail };
}

/** Headers that proxies add: a request through a proxy only appears to come from this machine. */
const PASSED_ON = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

/**
 * Decides who may read the server's state: callers with the token if ADMIN_METRICS_TOKEN is set, otherwise only this
 * machine. Returns why a request is refused, or null.
 */
function createAdmission(token: string | null): (request: FastifyRequest) => string | null {
  if (token === null) return refuseOthers;
  const expected = digest(`bearer ${token}`);
  return ({ headers: { authorization = '' } }) => {
    // Digests have the same length, so the comparison reveals nothing about the token's.
    const shown = digest(authorization.replace(/^bearer +/i, 'bearer '));
    return timingSafeEqual(shown, expected)
      ? null
      : 'Send the token of ADMIN_METRICS_TOKEN as a bearer token.';
  };
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

function refuseOthers({ socket, headers }: FastifyRequest): string | null {
  const address = socket.remoteAddress ?? '';
  const own = LOOPBACK.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  if (own && PASSED_ON.every((name) => headers[name] === undefined)) return null;
  return 'This is available from this machine only. Set ADMIN_METRICS_TOKEN to read it from elsewhere.';
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
