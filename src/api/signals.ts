import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { runParts } from '../http/idempotency.ts';
import { noQuery } from '../http/path.ts';
import { JSON_TYPE, sendAsIs } from '../http/problems.ts';
import { DomainError, type Fault } from '../model/errors.ts';
import { MAX_BATCH_SIGNALS, observedPostSchema, signalSchema } from '../model/signal.ts';
import { type ObservedResult, observePosts } from '../signals/intake.ts';
import { answerBatch, BATCH_BODY_BYTES, batchAnswer, batchBody, type ItemOutcome } from './batch.ts';
import type { ApiParts } from './parts.ts';

type WriteParts = Pick<
  ApiParts,
  'store' | 'clock' | 'matchers' | 'encoder' | 'newId' | 'seededRandom' | 'baseUrl' | 'nudge' | 'reserve'
>;

const observedAnswer = z.strictObject({
  data: z.strictObject({ status: z.enum(['created', 'duplicate']), signals: z.array(signalSchema) }),
});

const COUNTS = { created: 'created', duplicates: 'duplicate', rejected: 'rejected' } as const;
const batchedAnswer = batchAnswer(COUNTS, {
  signal_ids: z.array(z.string()).describe('The signals that it made or is a duplicate of'),
});

/** `POST /v1/signals` and its batch: observed posts in; scored, stored and routed before the answer. */
export function addSignalWrites(app: FastifyInstance, parts: WriteParts): void {
  addOne(app, parts);
  addBatch(app, parts);
}

function addOne(app: FastifyInstance, parts: WriteParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/signals',
    {
      config: { scope: 'signals:write' },
      schema: {
        operationId: 'createSignal',
        summary: 'Score, store and route an observed post',
        tags: ['Signals'],
        querystring: noQuery,
        body: observedPostSchema,
        response: { 200: observedAnswer, 201: observedAnswer },
      },
    },
    async (request, reply) => {
      const [result] = await observePosts(runParts(request, parts), callerOf(request).tenant.id, [
        request.body,
      ]);
      if (result === undefined) throw new Error('intake gave no result');
      if (result.status === 'rejected') throw rejected(result.errors);
      parts.nudge(result.lanes);
      if (result.status === 'created') {
        reply.code(201).header('location', `${parts.baseUrl}/v1/signals/${result.signalIds[0]}`);
      }
      const text = `{"data":{"status":"${result.status}","signals":[${result.signals.join(',')}]}}`;
      return sendAsIs(reply, JSON_TYPE, text);
    },
  );
}

function addBatch(app: FastifyInstance, parts: WriteParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/signals/batch',
    {
      bodyLimit: BATCH_BODY_BYTES,
      config: { scope: 'signals:write', itemwise: true, batchOf: 'signals' },
      schema: {
        operationId: 'createSignals',
        summary: `Score, store and route up to ${MAX_BATCH_SIGNALS} observed posts`,
        tags: ['Signals'],
        querystring: noQuery,
        body: batchBody('signals', observedPostSchema, MAX_BATCH_SIGNALS),
        response: { 200: batchedAnswer },
      },
    },
    async (request) => {
      const { tenant } = callerOf(request);
      return answerBatch({
        name: 'signals',
        items: request.body.signals,
        clock: parts.clock,
        schema: observedPostSchema,
        counts: COUNTS,
        none: { status: 'rejected', signal_ids: [] },
        run: async (posts) => {
          const observed = await observePosts(runParts(request, parts), tenant.id, posts);
          parts.nudge(observed.flatMap((result) => (result.status === 'rejected' ? [] : result.lanes)));
          return observed.map(toOutcome);
        },
      });
    },
  );
}

type Outcome = { status: 'created' | 'duplicate' | 'rejected'; signal_ids: string[] };

function toOutcome(result: ObservedResult): ItemOutcome<Outcome> {
  if (result.status === 'rejected') return { faults: result.errors };
  return { status: result.status, signal_ids: result.signalIds };
}

function rejected(errors: Fault[]): DomainError {
  return new DomainError('INVALID_REQUEST', errors[0]?.detail ?? 'The post was rejected.', { errors });
}
