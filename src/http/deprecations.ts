import type { FastifyInstance } from 'fastify';
import { DAY_MS, toHttpDate } from '../lib/clock.ts';

/** A deprecated operation and its replacement. */
export interface Deprecation {
  method: string;
  /** The pattern that the route is registered with: `/v1/signals/:id`. */
  path: string;
  /** When it was deprecated, Unix milliseconds. */
  deprecatedAt: number;
  /** When it will be removed, Unix milliseconds: at least twelve months later. */
  sunsetAt: number;
  /** Path or URL of the replacement. */
  successor: string;
}

/** The minimum time that a version remains supported after its deprecation is announced. */
const NOTICE_MS = 365 * DAY_MS;

/** Every deprecation in force, for all APIs. Nothing is deprecated today. */
export const DEPRECATIONS: readonly Deprecation[] = [];

export interface DeprecationDeps {
  baseUrl: string;
  deprecations: readonly Deprecation[];
}

/**
 * Adds `Deprecation: true`, `Sunset` (RFC 8594) and `Link: rel="successor-version"` (RFC 5829) to every response of a
 * deprecated operation, including errors. Register it before any hook that can refuse a request.
 */
export function addDeprecations(app: FastifyInstance, { baseUrl, deprecations }: DeprecationDeps): void {
  if (deprecations.length === 0) return;
  for (const { method, path, deprecatedAt, sunsetAt } of deprecations) {
    if (sunsetAt - deprecatedAt < NOTICE_MS)
      throw new Error(`${method} ${path} is to go within twelve months`);
  }
  const headers = new Map(
    deprecations.map((entry) => [keyOf(entry.method, entry.path), headersOf(entry, baseUrl)]),
  );
  const unmatched = new Set(headers.keys());
  app.addHook('onRoute', ({ method, url }) => {
    for (const name of [method].flat()) unmatched.delete(keyOf(name, url));
  });
  app.addHook('onReady', async () => {
    // An entry that matches no route would be an announcement that no caller receives.
    if (unmatched.size > 0) throw new Error(`deprecations name no route: ${[...unmatched].join(', ')}`);
  });
  app.addHook('onRequest', (request, reply, done) => {
    const { url } = request.routeOptions;
    const found = url === undefined ? undefined : headers.get(keyOf(request.method, url));
    if (found !== undefined) reply.headers(found);
    done();
  });
}

/** HEAD is GET without the body, so it is deprecated along with it. */
function keyOf(method: string, path: string): string {
  return `${method === 'HEAD' ? 'GET' : method} ${path}`;
}

function headersOf({ sunsetAt, successor }: Deprecation, baseUrl: string): Record<string, string> {
  const address = successor.startsWith('/') ? `${baseUrl}${successor}` : successor;
  return {
    deprecation: 'true',
    sunset: toHttpDate(sunsetAt),
    link: `<${address}>; rel="successor-version"`,
  };
}
