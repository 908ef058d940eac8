import type { Job } from '../../model/job.ts';
import type { JobStore } from '../job-store.ts';
import type { Asks, Scripts } from '../script.ts';

export interface JobStatements {
  jobs: {
    countOpen(tenantId: string): number | undefined;
    selectResults(id: string, processed: number): string | undefined;
    advance(status: string, processed: number, results: string, id: string): void;
    finish(at: number, error: string | null, id: string): void;
    insert(job: Job & { items: string }): boolean;
    prune(before: number, limit: number): number;
  };
}

export function jobChanges(ask: Asks<JobStatements>) {
  return {
    *createJob(job, items, mostOpen) {
      if (((yield* ask.jobs.countOpen(job.tenantId)) ?? 0) >= mostOpen) return false;
      yield* ask.jobs.insert({ ...job, items });
      return true;
    },
    *advanceJob({ id, processed, results, end }) {
      const before = yield* ask.jobs.selectResults(id, processed);
      if (before === undefined) return false;
      const all = [...(JSON.parse(before) as Job['results']), ...results];
      yield* ask.jobs.advance(end?.status ?? 'running', all.length, JSON.stringify(all), id);
      if (end !== null)
        yield* ask.jobs.finish(end.at, end.error === null ? null : JSON.stringify(end.error), id);
      return true;
    },
    pruneJobs: (before, limit) => ask.jobs.prune(before, limit),
  } satisfies Scripts<JobStore>;
}
