import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { idParams, noQuery } from '../http/path.ts';
import { JSON_TYPE, sendAsIs } from '../http/problems.ts';
import { letGo } from '../lib/own-bytes.ts';
import { DomainError } from '../model/errors.ts';
import { explanationSchema, signalSchema } from '../model/signal.ts';
import { listAnswer, pageBytes, readPage } from './list.ts';
import type { ApiParts } from './parts.ts';
import { signalQuerySchema, toSignalQuery } from './signal-query.ts';

type ReadParts = Pick<ApiParts, 'store' | 'cursors' | 'baseUrl'>;

const listedSignalSchema = signalSchema.extend({ explanation: explanationSchema.optional() });
const signalDetailSchema = signalSchema.extend({ text: z.string(), explanation: explanationSchema });

/**
 * `GET /v1/signals` and `GET /v1/signals/{id}`. Rows are stored as the JSON that every answer shows, so that an answer
 * is put together of bytes; the response schemas document it, and the tests hold the bytes to them.
 */
export function addSignalReads(app: FastifyInstance, parts: ReadParts): void {
  addList(app, parts);
  addDetail(app, parts);
}

function addList(app: FastifyInstance, parts: ReadParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/signals',
    {
      config: { scope: 'signals:read' },
      schema: {
        operationId: 'listSignals',
        summary: 'Signals, newest first',
        tags: ['Signals'],
        querystring: signalQuerySchema,
        response: { 200: listAnswer(listedSignalSchema) },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const { filters, rest } = toSignalQuery(request.query);
      const { page, pagination } = await readPage(
        parts,
        { request, reply },
        {
          name: 'signals',
          filters,
          query: request.query,
          read: (place) => parts.store.listSignals(tenant.id, { ...filters, ...rest, ...place }),
        },
      );
      const answer = pageBytes(page.json, pagination);
      letGo(page.json);
      return sendAsIs(reply, JSON_TYPE, answer);
    },
  );
}

function addDetail(app: FastifyInstance, { store }: ReadParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/signals/:id',
    {
      config: { scope: 'signals:read' },
      schema: {
        operationId: 'getSignal',
        summary: 'One signal with its text and explanation',
        tags: ['Signals'],
        params: idParams,
        querystring: noQuery,
        response: { 200: z.strictObject({ data: signalDetailSchema }) },
      },
    },
    async (request, reply) => {
      const found = await store.getSignal(callerOf(request).tenant.id, request.params.id);
      if (found === null) throw new DomainError('NOT_FOUND', `There is no signal "${request.params.id}".`);
      const { wire, text, explanation } = found;
      const members = `"text":${JSON.stringify(text)},"explanation":${explanation}`;
      return sendAsIs(reply, JSON_TYPE, `{"data":${wire.slice(0, -1)},${members}}}`);
    },
  );
}
