import { z } from 'zod';
import { deleteSignal } from '../leads/erase-lead.ts';
import { type Clock, toIso } from '../lib/clock.ts';
import { commaSeparated } from '../lib/json.ts';
import { concatInTurns, createYielder } from '../lib/yielding.ts';
import { DomainError, type Fault } from '../model/errors.ts';
import { JOB_MS, type Job, type JobResult, jobSchema } from '../model/job.ts';
import {
  explanationSchema,
  feedbackInputSchema,
  feedbackSchema,
  MAX_BATCH_SIGNALS,
  observedPostSchema,
  signalFilters,
  signalSchema,
} from '../model/signal.ts';
import { giveFeedback } from '../signals/feedback.ts';
import { type ObservedResult, observePosts } from '../signals/intake.ts';
import { createBatchJob } from '../signals/jobs.ts';
import type { JobStore } from '../store/request-store.ts';
import { addBatch, type ItemOutcome } from './batch.ts';
import { addList } from './list.ts';
import type { Routes, RoutesOf } from './routes.ts';

const UPDATED =
  'Present if the post was edited: its stored signals were updated with the new text and scored again.';

const observedSchema = z.strictObject({
  status: z
    .enum(['created', 'duplicate'])
    .describe('`created` if the post is new, `duplicate` if it was already known.'),
  updated: z.literal(true).optional().describe(UPDATED),
  signals: z.array(signalSchema).describe('Signals of the post, one for each matching profile.'),
});

/** `/v1/signals`: accepts observed posts, and returns scored and explained signals. */
export function addSignals(routesOf: RoutesOf): void {
  const signals = routesOf('Signals');
  addSignalReads(signals);
  addSignalWrites(signals);
  addJobs(signals);
  addSignalRemoval(signals);
  addSignalFeedback(signals);
}

/** Encodes texts as UTF-8, yielding in between: joined, a thousand signals of 16 KB took 0.3 s. */
async function encodeInTurns(texts: readonly string[], clock: Pick<Clock, 'monotonic'>): Promise<Buffer[]> {
  const nextTurn = createYielder(clock);
  const encoded: Buffer[] = [];
  for (const text of texts) {
    encoded.push(Buffer.from(text));
    await nextTurn();
  }
  return encoded;
}

/** `POST /v1/signals` and its batch: posts are scored, stored and routed before the response. */
function addSignalWrites(signals: Routes): void {
  signals.post('/signals', {
    operationId: 'createSignal',
    summary: 'Create signals from a post',
    description:
      'Scores a post with your profiles, stores a signal for each match and delivers it to your endpoints. A post that is already ' +
      'known returns its existing signals (200, `duplicate`). If it has the same `external_id` but another text, it was edited: its ' +
      'signals are updated and scored again (`updated: true`), keep their ID, time, lead and feedback, and move to the end of ' +
      '`order=stored`. They are not delivered again; a signal that becomes hot by the edit triggers `signal.new_hot` once.',
    scope: 'signals:write',
    body: observedPostSchema,
    answer: observedSchema,
    statuses: { 200: null, 201: null },
    async handle({ deps, tenantId, body, created }) {
      const [result] = await observePosts(deps, tenantId, [body]);
      if (result === undefined) throw new Error('intake gave no result');
      if (result.status === 'rejected') throw rejected(result.errors);
      if (result.status === 'created') created(`/signals/${result.signalIds[0]}`);
      const updated = result.isUpdated ? ',"updated":true' : '';
      const head = Buffer.from(`{"data":{"status":"${result.status}"${updated},"signals":[`);
      const rows = await encodeInTurns(result.signals, deps.clock);
      return concatInTurns([head, ...commaSeparated(rows), Buffer.from(']}}')], deps.clock);
    },
  });
  addBatch(signals, '/signals/batch', {
    operationId: 'createSignals',
    summary: 'Create signals from a batch of posts',
    description:
      `Takes up to ${MAX_BATCH_SIGNALS} posts. With the header \`Prefer: respond-async\`, the batch is processed in the background: the ` +
      'response is 202 with a job, whose progress and results are available from `GET /v1/jobs/{id}` for 7 days. Otherwise, a batch ' +
      'that would have to wait too long for the sentence encoder fails with 503 and `Retry-After`; nothing is stored.',
    problems: ['RATE_LIMITED'],
    scope: 'signals:write',
    name: 'signals',
    item: observedPostSchema,
    maxItems: MAX_BATCH_SIGNALS,
    counts: { created: 'created', duplicates: 'duplicate', rejected: 'rejected' },
    own: {
      updated: z.literal(true).optional().describe(UPDATED),
      signal_ids: z
        .array(z.string())
        .describe('IDs of the signals created, or of the existing ones for a duplicate.'),
    },
    none: { status: 'rejected', signal_ids: [] } as SignalOutcome,
    later: {
      answer: jobSchema,
      async run({ deps, tenantId }, items) {
        const jobItems = items.map((item) => ('input' in item ? { post: item.input } : item));
        const job = await createBatchJob(deps, tenantId, jobItems);
        return { ...jobResource(job), results: [] };
      },
    },
    async run({ deps, tenantId }, posts) {
      const observed = await observePosts(deps, tenantId, posts);
      return observed.map(toOutcome);
    },
  });
}

function addSignalRemoval(signals: Routes): void {
  signals.remove('/signals/:id', {
    operationId: 'deleteSignal',
    summary: 'Delete a signal',
    description:
      'Removes the signal from all lists, searches, counts and company statistics, and from its lead, whose score is updated. ' +
      'Pending deliveries of the signal are discarded, and the payloads of past ones are deleted. Facts about its company remain. ' +
      'Sending the same post again creates a new signal. To erase a person, use `DELETE /v1/leads/{id}`.',
    scope: 'signals:write',
    gone: 'Deleted',
    async handle({ deps, tenantId, params: { id } }) {
      await deleteSignal(deps, tenantId, id);
    },
  });
}

type SignalOutcome = { status: 'created' | 'duplicate' | 'rejected'; updated?: true; signal_ids: string[] };

function toOutcome(result: ObservedResult): ItemOutcome<SignalOutcome> {
  if (result.status === 'rejected') return { faults: result.errors };
  const { status, isUpdated, signalIds } = result;
  return { status, ...(isUpdated && { updated: true as const }), signal_ids: signalIds };
}

function rejected(errors: Fault[]): DomainError {
  return new DomainError('INVALID_REQUEST', errors[0]?.detail ?? 'The post was rejected.', { errors });
}

const listedSignalSchema = signalSchema
  .extend({
    explanation: explanationSchema.optional().describe('Breakdown of the score, with `include=explanation`.'),
  })
  .meta({ id: 'ListedSignal', description: 'A signal in a list.' });
const signalDetailSchema = signalSchema
  .extend({
    text: z.string().describe('Full text of the post.'),
    explanation: explanationSchema.describe('Breakdown of the score.'),
  })
  .meta({ id: 'SignalDetail', description: 'A signal with the full text of the post.' });

/**
 * `GET /v1/signals` and `GET /v1/signals/{id}`. Signals are stored as JSON text, so that responses are concatenated bytes; the
 * response schemas document them, and tests check the bytes against them.
 */
function addSignalReads(signals: Routes): void {
  addList(signals, '/signals', {
    operationId: 'listSignals',
    summary: 'List signals',
    description: 'Newest first by default.',
    scope: 'signals:read',
    query: {
      ...signalFilters.query.shape,
      include: z
        .enum(['explanation'])
        .optional()
        .describe('`explanation` adds the breakdown of the score to each signal.'),
    },
    item: listedSignalSchema,
    filters: ({ query }) => signalFilters.toFilters(query),
    read: ({ deps: { store }, tenantId, query }, asked) =>
      store.listSignals(tenantId, { ...asked, explain: query.include === 'explanation' }),
    stored: {
      kind: 'signals',
      read: ({ deps: { store }, tenantId, query }, asked) =>
        store.listStoredSignals(tenantId, { ...asked, explain: query.include === 'explanation' }),
    },
    show: ({ json }) => ({ json: [json] }),
  });
  signals.get('/signals/:id', {
    operationId: 'getSignal',
    summary: 'Get a signal',
    description: 'Returns the signal with the full text of the post and the breakdown of its score.',
    scope: 'signals:read',
    answer: signalDetailSchema,
    async handle({ deps, tenantId, params: { id } }) {
      const found = await deps.store.getSignal(tenantId, id);
      if (found === null) throw new DomainError('NOT_FOUND', `There is no signal "${id}".`);
      const { wire, text, explanation } = found;
      return `{"data":${wire.slice(0, -1)},"text":${JSON.stringify(text)},"explanation":${explanation}}}`;
    },
  });
}

/** `GET /v1/jobs/{id}`: progress and results of a batch that is processed in the background. */
function addJobs(signals: Routes): void {
  signals.get('/jobs/:id', {
    operationId: 'getJob',
    summary: 'Get a job',
    description:
      'Returns the progress and results of a batch that is processed in the background. Jobs are kept for 7 days.',
    scope: 'signals:read',
    answer: jobSchema,
    async handle({ deps, tenantId, params: { id } }) {
      const job = await deps.store.getJob(tenantId, id);
      if (job === null) throw new DomainError('NOT_FOUND', `There is no job "${id}".`);
      return jobBytes(deps, job);
    },
  });
}

type JobCounts = Record<JobResult['status'], number>;

/** A job in the API, without its results. */
function jobResource(job: Job, counts: JobCounts = { created: 0, duplicate: 0, rejected: 0 }) {
  return {
    ...{ id: job.id, kind: job.kind, status: job.status, total: job.total, processed: job.processed },
    ...{ created: counts.created, duplicates: counts.duplicate, rejected: counts.rejected },
    ...{ error: job.error, created_at: toIso(job.createdAt) },
    finished_at: job.finishedAt === null ? null : toIso(job.finishedAt),
    expires_at: toIso(job.createdAt + JOB_MS),
  };
}

/** The response with the results, which are read and counted step by step: 16 MB took up to 230 ms in one piece. */
async function jobBytes(
  { store, clock }: { store: Pick<JobStore, 'readJobResults'>; clock: Pick<Clock, 'monotonic'> },
  job: Job,
): Promise<Buffer> {
  const nextTurn = createYielder(clock);
  const counts: JobCounts = { created: 0, duplicate: 0, rejected: 0 };
  const parts: Buffer[] = [];
  let read = 0;
  // A step may have been added since the job was read.
  while (read < job.processed) {
    await nextTurn();
    const text = await store.readJobResults(job.id, read);
    if (text === null) break;
    const results = JSON.parse(text) as Pick<JobResult, 'status'>[];
    for (const { status } of results) counts[status]++;
    parts.push(Buffer.from(text.slice(1, -1)));
    read += results.length;
  }
  const head = JSON.stringify(jobResource(job, counts)).slice(0, -1);
  const pieces = [Buffer.from(`{"data":${head},"results":[`), ...commaSeparated(parts), Buffer.from(']}}')];
  return concatInTurns(pieces, clock);
}

/** `POST /v1/signals/{id}/feedback`: whether a signal was relevant. */
function addSignalFeedback(signals: Routes): void {
  signals.post('/signals/:id/feedback', {
    operationId: 'giveSignalFeedback',
    summary: 'Give feedback on a signal',
    description:
      'Records whether the signal was relevant, replacing earlier feedback. Feedback determines the precision of a profile and its ' +
      'suggestions.',
    scope: 'signals:write',
    body: feedbackInputSchema,
    answer: feedbackSchema,
    async handle({ deps, caller: { tenant, key }, params, body: { relevant, reason } }) {
      const by = { tenantId: tenant.id, actorId: key.id };
      const { signalId, createdAt } = await giveFeedback(deps, by, {
        signalId: params.id,
        relevant,
        reason,
      });
      return { signal_id: signalId, relevant, reason, created_at: toIso(createdAt) };
    },
  });
}
