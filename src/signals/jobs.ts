import type { Clock } from '../lib/clock.ts';
import { concatInTurns, eachInTurns, onBehalfOf } from '../lib/yielding.ts';
import { DomainError, storageFaultOf } from '../model/errors.ts';
import type { Job, JobProgress, JobResult } from '../model/job.ts';
import type { ObservedPost } from '../model/signal.ts';
import type { StepItems } from '../store/request-store.ts';
import { type ObservedResult, observeOnce, type ResumableIntakeDeps } from './intake.ts';

/** An item of a batch: a post, or the reasons why it was rejected. */
export type JobItem = { post: ObservedPost } | { rejected: Pick<JobResult, 'errors' | 'errors_total'> };

/** Maximum number of pending and running jobs of a tenant. */
const MOST_OPEN = 20;
/** Posts in one step, which takes about a second with the encoder. */
const STEP_ITEMS = 25;
/** Tenants whose jobs run at once: a step may take long, and the jobs of all others waited for it. */
const TENANTS_AT_ONCE = 8;
/** How often new jobs are looked for while steps are in progress. */
const LOOK_MS = 1_000;
const MOST_LISTED = 1_000;
const RETRY_SECONDS = 30;
const REST_MS = 1_000 * RETRY_SECONDS;

/**
 * Creates a job for a batch, to run later. @throws DomainError `RATE_LIMITED` if the tenant has too many
 * unfinished jobs
 */
export async function createBatchJob(
  { store, clock, newId }: Pick<ResumableIntakeDeps, 'store' | 'clock' | 'newId'>,
  tenantId: string,
  items: readonly JobItem[],
): Promise<Job> {
  const steps = await splitItems(items, clock);
  const job: Job = {
    ...{ id: newId('job'), tenantId, kind: 'signals.batch', status: 'pending' },
    ...{ total: items.length, processed: 0, createdAt: clock.now(), finishedAt: null, error: null },
  };
  if (await store.createJob(job, steps, MOST_OPEN)) return job;
  throw new DomainError('RATE_LIMITED', `${MOST_OPEN} jobs of this account are not done yet.`, {
    hint: 'Wait until one of them is done (GET /v1/jobs/{id}), or send the batch without "Prefer: respond-async".',
    retryAfterSeconds: RETRY_SECONDS,
  });
}

/** In turns and as bytes: the errors of 500 items may have 11 MB, which took 0.4 s at once, and 0.1 s to send to the writer as text. */
async function splitItems(items: readonly JobItem[], clock: Pick<Clock, 'monotonic'>): Promise<StepItems[]> {
  const lines = await eachInTurns(items, async (item) => Buffer.from(`${JSON.stringify(item)}\n`));
  const steps: StepItems[] = [];
  for (let from = 0; from < lines.length; from += STEP_ITEMS)
    steps.push({ from, items: await concatInTurns(lines.slice(from, from + STEP_ITEMS), clock) });
  return steps;
}

/**
 * Runs all pending jobs: of each tenant, one step of its oldest job at a time, next to those of other tenants, the ones with the
 * fewest steps so far first. An interrupted job resumes without duplicates. A job that fails, for example because its tenant has too
 * many posts waiting for the encoder, is tried again after a while.
 * @throws an error of a job, once no other job can continue; a storage failure, once the steps in progress have ended
 */
export async function runJobs(
  deps: ResumableIntakeDeps,
  isStopping: () => boolean = () => false,
): Promise<void> {
  const { store, clock } = deps;
  /** Jobs that could not continue, and why; null: another process has them. */
  const resting = new Map<string, { error: unknown; until: number }>();
  const running = new Map<string, Promise<void>>();
  const steps = new Map<string, number>();
  let outage: unknown = null;
  const stepsOf = ({ tenantId }: JobProgress) => steps.get(tenantId) ?? 0;
  const isNext = ({ id, tenantId }: JobProgress) =>
    !running.has(tenantId) && (resting.get(id)?.until ?? 0) <= clock.monotonic();

  async function run(job: JobProgress): Promise<void> {
    const rest = (error: unknown) => resting.set(job.id, { error, until: clock.monotonic() + REST_MS });
    steps.set(job.tenantId, stepsOf(job) + 1);
    try {
      if (await onBehalfOf(job.tenantId, () => step({ ...deps, isStopping }, job))) resting.delete(job.id);
      else rest(null);
    } catch (error) {
      const fault = storageFaultOf(error);
      if (fault === null || fault === 'damaged')
        rest(error); // damage concerns this job only
      else outage ??= error;
    } finally {
      running.delete(job.tenantId);
    }
  }

  while (true) {
    const open = isStopping() || outage !== null ? [] : await store.listOpenJobs(MOST_LISTED);
    const next = open.filter(isNext).sort((a, b) => stepsOf(a) - stepsOf(b));
    for (const job of next.slice(0, TENANTS_AT_ONCE - running.size)) running.set(job.tenantId, run(job));
    if (running.size === 0) break;
    const look = Promise.withResolvers<void>();
    const timer = clock.after(LOOK_MS, look.resolve);
    await Promise.race([...running.values(), look.promise]);
    timer.cancel();
  }
  const failure = outage ?? [...resting.values()].find(({ error }) => error !== null)?.error ?? null;
  if (failure !== null && !isStopping()) throw failure;
}

/** Runs one step of a job; false if it cannot run now. */
async function step(
  deps: ResumableIntakeDeps,
  { id, tenantId, processed, total }: JobProgress,
): Promise<boolean> {
  const stored = await deps.store.readJobItems(id, processed);
  if (stored === null) return false;
  const lines = stored.toString('utf8').trimEnd().split('\n');
  const items = await eachInTurns(lines, async (line) => JSON.parse(line) as JobItem);
  const posts = items.flatMap((item) => ('post' in item ? [item.post] : []));
  try {
    const kept = { tenantId, route: 'job', key: `${id}/${processed}`, posts };
    const observed = await observeOnce(deps, kept, (results) => results.map(withoutWires));
    if (observed === null) return false;
    const outcomes = observed.values();
    const results = items.map((item, i): JobResult => {
      const index = processed + i;
      if ('rejected' in item) return { index, status: 'rejected', signal_ids: [], ...item.rejected };
      const outcome = outcomes.next().value;
      if (outcome === undefined) throw new Error('a job has fewer outcomes than posts');
      return resultOf(index, outcome);
    });
    const isLast = processed + items.length >= total;
    const end = isLast ? { status: 'done' as const, error: null, at: deps.clock.now() } : null;
    return await deps.store.advanceJob({ id, processed, results, end });
  } catch (error) {
    if (!(error instanceof DomainError) || error.code === 'UNAVAILABLE' || storageFaultOf(error) !== null)
      throw error;
    const { code, message: detail } = error;
    const end = { status: 'failed' as const, error: { code, detail }, at: deps.clock.now() };
    return await deps.store.advanceJob({ id, processed, results: [], end });
  }
}

type StoredResult = Exclude<ObservedResult, { status: 'created' | 'duplicate' }> | Omit<Taken, 'signals'>;
type Taken = Extract<ObservedResult, { status: 'created' | 'duplicate' }>;

/** The result of a post as stored in a job: IDs without the signals. */
function withoutWires(result: ObservedResult): StoredResult {
  if (result.status === 'rejected') return result;
  const { signals: _signals, ...rest } = result;
  return rest;
}

function resultOf(index: number, outcome: StoredResult): JobResult {
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
