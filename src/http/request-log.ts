import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Logger, symbols } from 'pino';
import { pathOf } from './request-path.ts';
import { type RequestTally, UNMATCHED } from './request-tally.ts';

const MAX_LOGGED_PATH = 200;

/** A route's pattern, and the same as JSON. */
interface RouteName {
  text: string;
  json: string;
}

/**
 * One line for each answered request, which is counted too. It names the route's pattern, not the address: ids are for the
 * caller's own books, and an address may hold a one-time token. Headers, query and bodies are never logged.
 */
export function addRequestLog(
  app: FastifyInstance,
  { logger, tally }: { logger: Logger; tally: RequestTally },
): void {
  const write = createLineWriter(logger);
  // `routeOptions` builds an object at each access; a path that is its own pattern needs none.
  const staticPaths = new Map<string, RouteName>();
  app.addHook('onRoute', ({ url }) => {
    if (!/[:*]/.test(url)) staticPaths.set(url, { text: url, json: JSON.stringify(url) });
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { method } = request;
    const { statusCode, elapsedTime } = reply;
    const known = staticPaths.get(request.url);
    const pattern = known?.text ?? request.routeOptions.config.url;
    tally.count(pattern ?? UNMATCHED, method, statusCode, elapsedTime);
    if (logger.isLevelEnabled('info')) {
      const { caller } = request;
      const who = caller === null ? '' : `,"key_id":"${caller.key.id}","tenant_id":"${caller.tenant.id}"`;
      const route = known?.json ?? JSON.stringify(pattern ?? unroutedName(request));
      const ms = Math.round(elapsedTime * 10) / 10;
      // Ids and methods hold nothing that JSON would escape (request-context.ts; Node knows its methods by heart).
      write(
        `"request_id":"${request.id}","method":"${method}","route":${route},"status":${statusCode},"ms":${ms}${who},"msg":"request"`,
      );
    }
    done();
  });
}

/** The pattern of the route that was matched, else the start of the path that matched none. */
export function routeOf(request: FastifyRequest): string {
  return request.routeOptions.config.url ?? unroutedName(request);
}

function unroutedName(request: FastifyRequest): string {
  return pathOf(request.originalUrl).slice(0, MAX_LOGGED_PATH);
}

/**
 * Writes the members of a line of level `info` where the logger writes its own. pino's walk over an object's members
 * took a fifth of what a health answer costs beyond bare Fastify; these are always the same.
 */
function createLineWriter(logger: Logger): (members: string) => void {
  const stream: unknown = Reflect.get(logger, symbols.streamSym);
  const time: unknown = Reflect.get(logger, symbols.timeSym);
  if (!isStream(stream) || typeof time !== 'function') throw new Error('pino keeps its parts elsewhere now');
  const level = logger.levels.values.info;
  return (members) => stream.write(`{"level":${level}${time()},${members}}\n`);
}

function isStream(value: unknown): value is { write(line: string): void } {
  return typeof value === 'object' && value !== null && 'write' in value && typeof value.write === 'function';
}
