import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import fresh from 'fresh';
import { z } from 'zod';
import { JSON_TYPE, sendAsIs } from '../../http/problems.ts';
import type { Document } from './document-types.ts';

/** The document as it is sent, with the strong ETag of its bytes. */
interface Served {
  text: string;
  etag: string;
}

/** `GET /v1/openapi.json`, for everyone; made and serialised when it is first asked for. */
export function addOpenApiRoute(app: FastifyInstance, document: () => Document): void {
  let served: Served | null = null;
  app.withTypeProvider<ZodTypeProvider>().get(
    '/openapi.json',
    {
      config: { scope: 'none' },
      schema: {
        operationId: 'getOpenApi',
        summary: 'This description',
        tags: ['Account'],
        querystring: z.strictObject({}),
        response: {
          200: z.looseObject({ openapi: z.string() }).describe('An OpenAPI 3.1 document'),
          304: z.undefined().describe('The one that you have (`If-None-Match`)'),
        },
      },
    },
    async (request, reply) => {
      served ??= serve(document());
      const { text, etag } = served;
      reply.headers({ etag, 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' });
      if (fresh(request.headers, { etag })) return reply.code(304).send();
      return sendAsIs(reply, JSON_TYPE, text);
    },
  );
}

function serve(document: Document): Served {
  const text = JSON.stringify(document);
  return { text, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"` };
}
