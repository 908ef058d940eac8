import type { Json } from '../lib/json.ts';
import type { Job, JobResult } from '../model/job.ts';

/** A POST that carries an `Idempotency-Key`. `fingerprint` tells whether two such are the same request. */
export interface KeyedRequest {
  tenantId: string;
  /** Method and pattern, e.g. `POST /v1/leads`: a key counts for one route. */
  route: string;
  key: string;
  fingerprint: string;
}

/** The right to run a keyed request. `token` fences what its holder stores: a later holder's differs. */
export interface Reservation {
  token: string;
  /** Unix milliseconds. */
  now: number;
  /** When the key may be used for anything again. */
  expiresAt: number;
}

/** A change that a keyed request has made, by its name in the store, and what the commit answered. */
export interface Step {
  /** Which item of a batch made it; '' where there are none. */
  item: string;
  name: string;
  result: Json;
}

/** A keyed request that its holder runs, for the first time or again. */
export interface HeldKey {
  request: KeyedRequest;
  token: string;
  /** What its ids and secrets follow from, and when it began: the same in each run. */
  seed: string;
  startedAt: number;
  /** What earlier runs, which were cut off, have done. */
  steps: readonly Step[];
}

/** What is kept of a success. */
export interface KeptAnswer {
  status: number;
  location: string | null;
  body: string;
}

/**
 * States of a key: free → held → answered → free (expired), and held → free (released with nothing done). A key whose
 * holder died, or released it with something done, is held by whoever asks next: it runs again, and what was done is not
 * done twice (`Store.keeping`). `running` is returned only while its holder is alive.
 */
export type Reserved =
  | { state: 'running' | 'mismatch' }
  | { state: 'held'; held: HeldKey }
  | { state: 'answered'; answer: KeptAnswer };

/** Answers of keyed requests, so that a retry gets the first answer instead of a second effect. */
export interface IdempotencyStore {
  /** `held`: the caller runs it and then answers or releases. Atomic: of many at once one gets it. */
  reserveKey(request: KeyedRequest, reservation: Reservation): Promise<Reserved>;
  /** Keeps the success for the rest of the key's time; false where the reservation is no longer the holder's. */
  answerKey(request: KeyedRequest, token: string, answer: KeptAnswer): Promise<boolean>;
  /** Gives up a key whose request did not succeed. */
  releaseKey(request: KeyedRequest, token: string): Promise<void>;
}

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
