import { toIso } from '../lib/clock.ts';
import { DomainError, storageFaultOf } from '../model/errors.ts';
import { JOB_MS, type Job, type JobResult } from '../model/job.ts';
import type { ObservedPost } from '../model/signal.ts';
import { type KeptIntakeParts, type ObservedResult, observeKept } from './intake.ts';

/** An item of a batch: a post, or why it was rejected. */
export type JobItem = { post: ObservedPost } | { rejected: Pick<JobResult, 'errors' | 'errors_total'> };

/** Jobs of a tenant that wait or run. */
const MOST_OPEN = 20;
/** Posts of one step: about a second with the encoder. */
const STEP_ITEMS = 25;
const AT_ONCE = 20;
const RETRY_SECONDS = 30;

/** Takes a batch on, to be done later. @throws DomainError `RATE_LIMITED` where too many of the tenant's are not done */
export async function createBatchJob(
  { store, clock, newId }: Pick<KeptIntakeParts, 'store' | 'clock' | 'newId'>,
  tenantId: string,
  items: readonly JobItem[],
): Promise<Job> {
  const job: Job = {
    ...{ id: newId('job'), tenantId, kind: 'signals.batch', status: 'pending' },
    ...{
      total: items.length,
      processed: 0,
      createdAt: clock.now(),
      finishedAt: null,
      error: null,
      results: [],
    },
  };
  if (await store.createJob(job, JSON.stringify(items), MOST_OPEN)) return job;
  throw new DomainError('RATE_LIMITED', `${MOST_OPEN} jobs of this account are not done yet.`, {
    hint: 'Wait until one of them is done (GET /v1/jobs/{id}), or send the batch without "Prefer: respond-async".',
    retryAfterSeconds: RETRY_SECONDS,
  });
}

/** A job as it is shown. */
export function jobResource(job: Job) {
  const count = (status: JobResult['status']) => job.results.filter((each) => each.status === status).length;
  return {
    ...{ id: job.id, kind: job.kind, status: job.status, total: job.total, processed: job.processed },
    ...{ created: count('created'), duplicates: count('duplicate'), rejected: count('rejected') },
    ...{ results: job.results, error: job.error, created_at: toIso(job.createdAt) },
    finished_at: job.finishedAt === null ? null : toIso(job.finishedAt),
    expires_at: toIso(job.createdAt + JOB_MS),
  };
}

/** Does all that waits, a step of each tenant's oldest job in turn. Cut off anywhere, it goes on with nothing done twice. */
export async function runJobs(
  parts: KeptIntakeParts,
  isStopping: () => boolean = () => false,
): Promise<void> {
  let isAnyDone = true;
  while (isAnyDone) {
    isAnyDone = false;
    for (const job of await parts.store.listOpenJobs(AT_ONCE)) {
      if (isStopping()) return;
      if (await step(parts, job)) isAnyDone = true;
    }
  }
}

/** One step of a job; false where it could not be done now. */
async function step(parts: KeptIntakeParts, { id, tenantId, processed, total }: Job): Promise<boolean> {
  const text = await parts.store.readJobItems(id);
  if (text === null) return false;
  const items = (JSON.parse(text) as JobItem[]).slice(processed, processed + STEP_ITEMS);
  const posts = items.flatMap((item) => ('post' in item ? [item.post] : []));
  try {
    const kept = { tenantId, route: 'job', key: `${id}/${processed}`, posts };
    const observed = await observeKept(parts, kept, (results) => results.map(withoutWires));
    if (observed === null) return false;
    const outcomes = observed.values();
    const results = items.map((item, i): JobResult => {
      const index = processed + i;
      if ('rejected' in item) return { index, status: 'rejected', signal_ids: [], ...item.rejected };
      const outcome = outcomes.next().value;
      if (outcome === undefined) throw new Error('a job came to fewer outcomes than it has posts');
      return resultOf(index, outcome);
    });
    const isLast = processed + items.length >= total;
    const end = isLast ? { status: 'done' as const, error: null, at: parts.clock.now() } : null;
    return await parts.store.advanceJob({ id, processed, results, end });
  } catch (error) {
    if (!(error instanceof DomainError) || error.code === 'UNAVAILABLE' || storageFaultOf(error) !== null)
      throw error;
    const { code, message: detail } = error;
    const end = { status: 'failed' as const, error: { code, detail }, at: parts.clock.now() };
    return await parts.store.advanceJob({ id, processed, results: [], end });
  }
}

type Kept = Exclude<ObservedResult, { status: 'created' | 'duplicate' }> | Omit<Taken, 'signals'>;
type Taken = Extract<ObservedResult, { status: 'created' | 'duplicate' }>;

/** What a job's result is made of: ids, not the signals. */
function withoutWires(result: ObservedResult): Kept {
  if (result.status === 'rejected') return result;
  const { signals: _signals, ...rest } = result;
  return rest;
}

function resultOf(index: number, outcome: Kept): JobResult {
  if (outcome.status === 'rejected') {
    const errors = outcome.errors.map(({ pointer = '', detail }) => ({
      pointer: `/signals/${index}${pointer}`,
      detail,
    }));
    return { index, status: 'rejected', signal_ids: [], errors };
  }
  const { status, isUpdated, signalIds } = outcome;
  return { index, status, ...(isUpdated && { updated: true as const }), signal_ids: signalIds, errors: [] };
}
