import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { pagingQuery } from '../http/paging.ts';
import { idParams } from '../http/path.ts';
import { sourceRunResource, sourceRunSchema } from '../model/source.ts';
import { findSource } from '../signals/sources.ts';
import { listAnswer, readPage } from './list.ts';
import type { ApiParts } from './parts.ts';

/** What came of a source's last runs. */
export function addSourceRuns(
  app: FastifyInstance,
  parts: Pick<ApiParts, 'store' | 'cursors' | 'baseUrl'>,
): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/sources/:id/runs',
    {
      config: { scope: 'sources:read' },
      schema: {
        operationId: 'listSourceRuns',
        summary: 'Runs of a source, newest first',
        description:
          'The last 100 are kept. A run that was put off, as the site wants time between two requests, is none.',
        tags: ['Sources'],
        params: idParams,
        querystring: z.strictObject(pagingQuery),
        response: { 200: listAnswer(sourceRunSchema) },
      },
    },
    async (request, reply) => {
      const source = await findSource(parts.store, callerOf(request).tenant.id, request.params.id);
      const { page, pagination } = await readPage(
        parts,
        { request, reply },
        {
          name: 'source-runs',
          filters: source.id,
          query: request.query,
          read: (place) => parts.store.pageSourceRuns(source.id, place),
        },
      );
      return { data: page.rows.map(sourceRunResource), pagination };
    },
  );
}
