import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { check } from '../http/faults.ts';
import { findBadText } from '../http/json-body.ts';
import { JSON_TYPE, sendAsIs } from '../http/problems.ts';
import { DomainError, type Fault } from '../model/errors.ts';
import { MAX_BATCH_SIGNALS, type ObservedPost, observedPostSchema, signalSchema } from '../model/signal.ts';
import { type ObservedResult, observePosts } from '../signals/intake.ts';
import type { ApiParts } from './parts.ts';

type WriteParts = Pick<ApiParts, 'store' | 'clock' | 'newId' | 'baseUrl' | 'nudge'>;

const BATCH_BODY_BYTES = 5 * 1024 * 1024;

const observedAnswer = z.strictObject({
  data: z.strictObject({ status: z.enum(['created', 'duplicate']), signals: z.array(signalSchema) }),
});

const faultSchema = z.strictObject({ pointer: z.string(), detail: z.string() });
const batchAnswer = z.strictObject({
  data: z.strictObject({
    results: z.array(
      z.strictObject({
        index: z.int(),
        status: z.enum(['created', 'duplicate', 'rejected']),
        signal_ids: z.array(z.string()),
        errors: z.array(faultSchema),
      }),
    ),
    created: z.int(),
    duplicates: z.int(),
    rejected: z.int(),
  }),
});
type BatchResult = z.infer<typeof batchAnswer>['data']['results'][number];

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
        querystring: z.strictObject({}),
        body: observedPostSchema,
        response: { 200: observedAnswer, 201: observedAnswer },
      },
    },
    async (request, reply) => {
      const [result] = await observePosts(parts, callerOf(request).tenant.id, [request.body]);
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
      config: { scope: 'signals:write', itemwise: true },
      schema: {
        operationId: 'createSignals',
        summary: `Score, store and route up to ${MAX_BATCH_SIGNALS} observed posts`,
        tags: ['Signals'],
        querystring: z.strictObject({}),
        body: z.strictObject({
          signals: z
            .array(z.unknown())
            .min(1)
            .max(MAX_BATCH_SIGNALS)
            .describe('Observed posts as of createSignal; each is checked on its own'),
        }),
        response: { 200: batchAnswer },
      },
    },
    async (request) => {
      const items = request.body.signals.map(checkItem);
      const posts = items.flatMap((item) => ('post' in item ? [item.post] : []));
      const observed = await observePosts(parts, callerOf(request).tenant.id, posts);
      parts.nudge(observed.flatMap((result) => (result.status === 'rejected' ? [] : result.lanes)));

      const next = observed.values();
      const results = items.map((item, index) =>
        'post' in item ? toResult(index, next.next().value) : rejectedResult(index, item.errors),
      );
      const count = (status: BatchResult['status']) => results.filter((r) => r.status === status).length;
      return {
        data: {
          results,
          created: count('created'),
          duplicates: count('duplicate'),
          rejected: count('rejected'),
        },
      };
    },
  );
}

function checkItem(item: unknown): { post: ObservedPost } | { errors: Fault[] } {
  const badText = findBadText(item);
  if (badText !== null) return { errors: [badText] };
  const checked = check(observedPostSchema, item, 'body');
  return checked.ok ? { post: checked.value } : { errors: checked.faults };
}

function toResult(index: number, result: ObservedResult | undefined): BatchResult {
  if (result === undefined) throw new Error('intake gave too few results');
  if (result.status === 'rejected') return rejectedResult(index, result.errors);
  return { index, status: result.status, signal_ids: result.signalIds, errors: [] };
}

function rejectedResult(index: number, errors: readonly Fault[]): BatchResult {
  return {
    index,
    status: 'rejected',
    signal_ids: [],
    errors: errors.map(({ pointer = '', detail }) => ({ pointer: `/signals/${index}${pointer}`, detail })),
  };
}

function rejected(errors: Fault[]): DomainError {
  return new DomainError('INVALID_REQUEST', errors[0]?.detail ?? 'The post was rejected.', { errors });
}
