import { z } from 'zod';
import { DomainError, type Fault } from '../model/errors.ts';
import { jobSchema } from '../model/job.ts';
import { MAX_BATCH_SIGNALS, observedPostSchema, signalSchema } from '../model/signal.ts';
import { type ObservedResult, observePosts } from '../signals/intake.ts';
import { createBatchJob, jobResource } from '../signals/jobs.ts';
import { addBatch, type ItemOutcome } from './batch.ts';
import { addJobs } from './jobs.ts';
import type { Routes, RoutesOf } from './routes.ts';
import { addSignalFeedback } from './signal-feedback.ts';
import { addSignalReads } from './signal-reads.ts';

const UPDATED =
  'Whether stored signals of the post were given its new text and scored again, as its author has edited it; else left out';

const observedSchema = z.strictObject({
  status: z.enum(['created', 'duplicate']),
  updated: z.literal(true).optional().describe(UPDATED),
  signals: z.array(signalSchema),
});

/** `/v1/signals`: observed posts in, scored and explained signals out. */
export function addSignals(routesOf: RoutesOf): void {
  const signals = routesOf('Signals');
  addSignalReads(signals);
  addSignalWrites(signals);
  addJobs(signals);
  addSignalRemoval(signals);
  addSignalFeedback(signals);
}

/** `POST /v1/signals` and its batch: observed posts in; scored, stored and routed before the answer. */
function addSignalWrites(signals: Routes): void {
  signals.post('/signals', {
    operationId: 'createSignal',
    summary: 'Score, store and route an observed post',
    description:
      'A post that is known (`duplicate`, 200) makes no second signal. Where it comes with the `external_id` it had and another ' +
      'text, its author has edited it: its signals get the new text and are scored again (`updated: true`), keep id, time, lead ' +
      'and feedback, and stand at the end of `order=stored`. Nothing is delivered again; one that becomes hot by the edit is ' +
      'told once by `signal.new_hot`.',
    scope: 'signals:write',
    body: observedPostSchema,
    answer: observedSchema,
    statuses: { 200: null, 201: null },
    async handle({ parts, tenantId, body, created }) {
      const [result] = await observePosts(parts, tenantId, [body]);
      if (result === undefined) throw new Error('intake gave no result');
      if (result.status === 'rejected') throw rejected(result.errors);
      if (result.status === 'created') created(`/signals/${result.signalIds[0]}`);
      const updated = result.isUpdated ? ',"updated":true' : '';
      return `{"data":{"status":"${result.status}"${updated},"signals":[${result.signals.join(',')}]}}`;
    },
  });
  addBatch(signals, '/signals/batch', {
    operationId: 'createSignals',
    summary: `Score, store and route up to ${MAX_BATCH_SIGNALS} observed posts`,
    description:
      'With the header `Prefer: respond-async` the batch is taken on and answered at once, with 202 and a job: `GET /v1/jobs/{id}` ' +
      'has its progress and results for 7 days. Without it, a batch that would wait too long for the sentence encoder is 503 with ' +
      '`Retry-After` before anything is stored.',
    problems: ['RATE_LIMITED'],
    scope: 'signals:write',
    name: 'signals',
    item: observedPostSchema,
    maxItems: MAX_BATCH_SIGNALS,
    counts: { created: 'created', duplicates: 'duplicate', rejected: 'rejected' },
    own: {
      updated: z.literal(true).optional().describe(UPDATED),
      signal_ids: z.array(z.string()).describe('The signals that it made or is a duplicate of'),
    },
    none: { status: 'rejected', signal_ids: [] } as Outcome,
    later: {
      answer: jobSchema,
      async run({ parts, tenantId }, items) {
        const jobItems = items.map((item) => ('input' in item ? { post: item.input } : item));
        return jobResource(await createBatchJob(parts, tenantId, jobItems));
      },
    },
    async run({ parts, tenantId }, posts) {
      const observed = await observePosts(parts, tenantId, posts);
      return observed.map(toOutcome);
    },
  });
}

function addSignalRemoval(signals: Routes): void {
  signals.remove('/signals/:id', {
    operationId: 'deleteSignal',
    summary: 'Delete a signal',
    description:
      'It leaves every list, search, count and company figure, and its lead, which is scored by the signals that are left. ' +
      'Deliveries of it that still wait are discarded, and the bodies of others are emptied. What it said of its company ' +
      'stays. The same post sent again later makes a new signal. To erase a person everywhere, use `DELETE /v1/leads/{id}`.',
    scope: 'signals:write',
    gone: 'Deleted',
    async handle({ parts, tenantId, params: { id } }) {
      const endpointIds = await parts.store.deleteSignal(tenantId, id, parts.clock.now());
      if (endpointIds === null) throw new DomainError('NOT_FOUND', `There is no signal "${id}".`);
      for (const endpointId of endpointIds) parts.endpointChanged(endpointId);
    },
  });
}

type Outcome = { status: 'created' | 'duplicate' | 'rejected'; updated?: true; signal_ids: string[] };

function toOutcome(result: ObservedResult): ItemOutcome<Outcome> {
  if (result.status === 'rejected') return { faults: result.errors };
  const { status, isUpdated, signalIds } = result;
  return { status, ...(isUpdated && { updated: true as const }), signal_ids: signalIds };
}

function rejected(errors: Fault[]): DomainError {
  return new DomainError('INVALID_REQUEST', errors[0]?.detail ?? 'The post was rejected.', { errors });
}
