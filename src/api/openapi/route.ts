import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { JSON_TYPE, sendText } from '../../http/problems.ts';
import type { Document } from './document-types.ts';

/** `GET /v1/openapi.json`, for everyone; made and serialised when it is first asked for. */
export function addOpenApiRoute(app: FastifyInstance, document: () => Document): void {
  let text: string | null = null;
  app.withTypeProvider<ZodTypeProvider>().get(
    '/openapi.json',
    {
      config: { scope: 'none' },
      schema: {
        operationId: 'getOpenApi',
        summary: 'This description',
        tags: ['Account'],
        querystring: z.strictObject({}),
        response: { 200: z.looseObject({ openapi: z.string() }).describe('An OpenAPI 3.1 document') },
      },
    },
    async (_request, reply) => {
      text ??= JSON.stringify(document());
      reply.header('access-control-allow-origin', '*');
      return sendText(reply, JSON_TYPE, text);
    },
  );
}
