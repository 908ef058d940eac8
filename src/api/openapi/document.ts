import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import type { Deprecation } from '../../http/deprecations.ts';
import type { ApiParts } from '../parts.ts';
import { markDeprecated } from './deprecated.ts';
import { describeMembers } from './describe-members.ts';
import type { Document, Operation } from './document-types.ts';
import { addExamples, readExamples } from './examples.ts';
import { HEADERS } from './headers.ts';
import { documentHead } from './info.ts';
import { completeOperation, type DescribedRoute } from './operations.ts';
import { PROBLEM_SCHEMA } from './problem-answers.ts';
import { pruneComponents, renameLoneInputs, tidySchemas } from './schemas.ts';
import { addWebhooks } from './webhooks.ts';
import { transformDocument, transformRoute } from './zod-schemas.ts';

const COMPONENTS = {
  securitySchemes: {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: 'An API key: `sp_live_` and 36 letters and digits.',
    },
  },
  schemas: { Problem: PROBLEM_SCHEMA },
  headers: HEADERS,
  parameters: {
    IdempotencyKey: {
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description:
        'Makes a retry safe: for 24 hours the same key and body on this operation replay the stored success, with ' +
        '`Idempotent-Replayed: true` and without what is shown only once.',
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
      example: '0d9bc5a2-8a7e-4d6f-9a54-1f7f0e6b1f3c',
    },
  },
};

/**
 * Watches the routes that are added to `app` from now on, and describes them on demand, once. What @fastify/swagger and
 * the zod transform leave out (answer headers, problems, security) is added from each route's configuration.
 */
export async function collectDocument(
  app: FastifyInstance,
  { baseUrl, deprecations }: Pick<ApiParts, 'baseUrl' | 'deprecations'>,
): Promise<() => Document> {
  const routes = new Map<string, DescribedRoute>();
  app.addHook('onRoute', ({ method, url, config, schema }) => {
    for (const name of [method].flat()) {
      routes.set(`${name} ${toTemplate(url)}`, {
        method: name,
        url,
        ...(config && { config }),
        ...(schema && { schema }),
      });
    }
  });
  const head = documentHead(baseUrl);
  await app.register(swagger, {
    openapi: { ...head, components: structuredClone(COMPONENTS) } as never,
    stripBasePath: false,
    convertConstToEnum: false,
    transform: transformRoute,
    transformObject: transformDocument,
  });

  let document: Document | null = null;
  return () => {
    document ??= complete(app.swagger() as unknown as Document, { routes, deprecations });
    return document;
  };
}

interface Known {
  routes: ReadonlyMap<string, DescribedRoute>;
  deprecations: readonly Deprecation[];
}

function complete(document: Document, { routes, deprecations }: Known): Document {
  for (const [operation, route] of operationsOf(document, routes)) {
    completeOperation(document, operation, route);
    markDeprecated(operation, route, deprecations);
  }
  const examples = readExamples();
  addExamples(document, examples);
  addWebhooks(document, examples);
  tidySchemas(document.paths);
  tidySchemas(document.webhooks);
  tidySchemas(document.components.schemas);
  pruneComponents(document);
  const named = renameLoneInputs(document);
  describeMembers(named);
  return named;
}

function operationsOf(
  document: Document,
  routes: ReadonlyMap<string, DescribedRoute>,
): [Operation, DescribedRoute][] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [Operation, DescribedRoute] => {
      const route = routes.get(`${method.toUpperCase()} ${path}`);
      if (route === undefined) throw new Error(`${method} ${path} is documented and not served`);
      return [operation, route];
    }),
  );
}

function toTemplate(url: string): string {
  return url.replace(/:([A-Za-z0-9_]+)/g, '{$1}');
}
