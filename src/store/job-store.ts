import type { Job, JobResult } from '../model/job.ts';

/** A step of a job; it counts from `processed` on, and not twice. */
export interface JobStep {
  id: string;
  processed: number;
  results: JobResult[];
  /** Null: it goes on. */
  end: { status: 'done' | 'failed'; error: Job['error']; at: number } | null;
}

/** Work that is done after it was taken on. `items` are JSON, known to who does it. */
export interface JobStore {
  /** False where the tenant has `mostOpen` that are not finished. */
  createJob(job: Job, items: string, mostOpen: number): Promise<boolean>;
  getJob(tenantId: string, id: string): Promise<Job | null>;
  /** Those that are not finished, of each tenant the oldest, the longest waiting first. */
  listOpenJobs(limit: number): Promise<Job[]>;
  /** What a job is to do; null once it is finished. */
  readJobItems(id: string): Promise<string | null>;
  /** False where another process was there before. */
  advanceJob(step: JobStep): Promise<boolean>;
  /** Removes finished jobs made before; how many. */
  pruneJobs(before: number, limit: number): Promise<number>;
}
