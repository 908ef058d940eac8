import type { FastifyInstance, FastifyReply } from 'fastify';

const ORDER = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Which methods each path of one face has. Fastify knows no 405: a wrong method is a route that is not found. */
export interface MethodTable {
  /** The value of `Allow` for a path, or null where nothing has that path. */
  allow(path: string): string | null;
}

/** Collects the routes that are added to `app` from now on. */
export function collectMethods(app: FastifyInstance): MethodTable {
  const routes = new Map<string, { segments: string[]; methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    const route = routes.get(url) ?? { segments: url.split('/'), methods: new Set(['OPTIONS']) };
    for (const name of [method].flat()) route.methods.add(name);
    routes.set(url, route);
  });

  return {
    allow(path) {
      const segments = path.split('/').map(decodeSegment);
      for (const route of routes.values()) {
        if (fits(route.segments, segments)) return ORDER.filter((name) => route.methods.has(name)).join(', ');
      }
      return null;
    },
  };
}

/** The answer to OPTIONS on a path that exists. */
export function sendAllow(reply: FastifyReply, allow: string): FastifyReply {
  return reply.header('allow', allow).code(204).send();
}

function fits(pattern: readonly string[], path: readonly string[]): boolean {
  if (pattern.length !== path.length) return false;
  return pattern.every((part, i) => (part.startsWith(':') ? path[i] !== '' : part === path[i]));
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
