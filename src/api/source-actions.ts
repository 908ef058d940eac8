import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { runParts } from '../http/idempotency.ts';
import { idParams, noQuery } from '../http/path.ts';
import { sourceResource, sourceSchema } from '../model/source.ts';
import { changeSource, runSourceNow } from '../signals/sources.ts';
import type { ApiParts } from './parts.ts';

type ActionParts = Pick<
  ApiParts,
  'store' | 'clock' | 'newId' | 'seededRandom' | 'allowTargets' | 'secretBox' | 'refusalOf' | 'sourcesChanged'
>;

const oneSource = z.strictObject({ data: sourceSchema });

/** What makes a source run or rest. */
export function addSourceActions(app: FastifyInstance, parts: ActionParts): void {
  addRest(app, parts, 'pause');
  addRest(app, parts, 'resume');
  addRun(app, parts);
}

const RESTS = {
  pause: {
    operationId: 'pauseSource',
    summary: 'Pause a source',
    description: 'It is not read any more; its position stays. One that is paused stays so.',
  },
  resume: {
    operationId: 'resumeSource',
    summary: 'Resume a source',
    description: 'It goes on where it was, at once. One that is active stays as it is.',
  },
} as const;

function addRest(app: FastifyInstance, parts: ActionParts, action: keyof typeof RESTS): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    `/sources/:id/${action}`,
    {
      config: { scope: 'sources:write' },
      schema: {
        ...RESTS[action],
        tags: ['Sources'],
        params: idParams,
        querystring: noQuery,
        response: { 200: oneSource },
      },
    },
    async (request) => {
      const change = { id: request.params.id, patch: { active: action === 'resume' } };
      const source = await changeSource(runParts(request, parts), callerOf(request).tenant.id, change);
      parts.sourcesChanged?.();
      return { data: sourceResource(source) };
    },
  );
}

function addRun(app: FastifyInstance, parts: ActionParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/sources/:id/run',
    {
      config: { scope: 'sources:write', problems: ['CONFLICT'] },
      schema: {
        operationId: 'runSource',
        summary: 'Read a source now',
        description: [
          'Makes it due at once and answers without waiting for the run; `last_run_at` tells when it ended. Where the source',
          'asked to be left alone for a while (`Retry-After`), it is read as soon as that is over: see `next_poll_at`.',
        ].join(' '),
        tags: ['Sources'],
        params: idParams,
        querystring: noQuery,
        response: { 202: oneSource },
      },
    },
    async (request, reply) => {
      const source = await runSourceNow(
        runParts(request, parts),
        callerOf(request).tenant.id,
        request.params.id,
      );
      parts.sourcesChanged?.();
      return reply.code(202).send({ data: sourceResource(source) });
    },
  );
}
