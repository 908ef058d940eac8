import type { Json } from '../lib/json.ts';
import type { Job, JobProgress, JobResult } from '../model/job.ts';

/** A request with an `Idempotency-Key`. Equal requests have the same `fingerprint`. */
export interface KeyedRequest {
  tenantId: string;
  /** Method and pattern, e.g. `POST /v1/leads`: keys are scoped to a route. */
  route: string;
  key: string;
  fingerprint: string;
}

/** The right to run a keyed request. `token` fences the changes of its holder: later holders have another. */
export interface Reservation {
  token: string;
  /** Unix milliseconds. */
  now: number;
  /** When the key can be used for another request. */
  expiresAt: number;
}

/** A change that a keyed request has made: its name in the store and its result. */
export interface Step {
  /** The item of a batch that made it; '' if it is no batch. */
  item: string;
  name: string;
  result: Json;
}

/** A keyed request that its holder runs, for the first time or as a retry. */
export interface HeldKey {
  request: KeyedRequest;
  token: string;
  /** The seed of its ids and secrets, and its start time: the same in each run. */
  seed: string;
  startedAt: number;
  /** Changes made by earlier, interrupted runs. */
  steps: readonly Step[];
}

/** The stored part of a successful response. */
export interface StoredResponse {
  status: number;
  location: string | null;
  /** Bytes are passed to the writer as they are: 11 MB took 0.1 to 0.2 s as text. */
  body: string | Uint8Array;
}

/** A stored response as read, with the bytes of its body, which are sent unchanged. */
export interface KeptResponse extends Omit<StoredResponse, 'body'> {
  body: Buffer;
}

/**
 * States of a key: free → held → answered → free (expired), and held → free (released without changes). If the holder died, or
 * released the key after making changes, the next request holds it: it runs again, without repeating these changes
 * (`Store.keeping`). `running` is returned only while the holder is alive.
 */
export type Reserved =
  | { state: 'running' | 'mismatch' }
  | { state: 'held'; held: HeldKey }
  | { state: 'answered'; answer: KeptResponse };

/** Responses to keyed requests, so that a retry gets the first response instead of a second effect. */
export interface IdempotencyStore {
  /** `held`: the caller runs the request, then answers or releases it. Atomic: only one of several callers gets it. */
  reserveKey(request: KeyedRequest, reservation: Reservation): Promise<Reserved>;
  /** Stores the response until the key expires; false if the caller no longer holds it. */
  answerKey(request: KeyedRequest, token: string, answer: StoredResponse): Promise<boolean>;
  /** Releases the key of a request that did not succeed. */
  releaseKey(request: KeyedRequest, token: string): Promise<void>;
}

/** The body of the stored response of a key; null if there is none. */
export interface KeptBodyReads {
  keptBody(request: KeyedRequest): Promise<Buffer | null>;
}

/** A step of a job; applied only if the job is still at `processed`. */
export interface JobStep {
  id: string;
  processed: number;
  results: JobResult[];
  /** Null: the job continues. */
  end: { status: 'done' | 'failed'; error: Job['error']; at: number } | null;
}

/** The items of a step of a job, from item `from` on: JSON texts in UTF-8, one per line, defined by the handler of the job. */
export interface StepItems {
  from: number;
  items: Uint8Array;
}

/** Work that continues after its request was answered. */
export interface JobStore {
  /** False if the tenant already has `mostOpen` unfinished jobs. */
  createJob(job: Job, steps: readonly StepItems[], mostOpen: number): Promise<boolean>;
  getJob(tenantId: string, id: string): Promise<Job | null>;
  /** The results of the step that began with item `from`, as a JSON array; null if there is none. */
  readJobResults(id: string, from: number): Promise<string | null>;
  /** The oldest unfinished job of each tenant, longest waiting first. */
  listOpenJobs(limit: number): Promise<JobProgress[]>;
  /** The items of the step that begins with item `from`; null once it is done, or the job has failed. */
  readJobItems(id: string, from: number): Promise<Buffer | null>;
  /** False if another process has already advanced it. */
  advanceJob(step: JobStep): Promise<boolean>;
  /** Deletes up to `limit` finished jobs created before; returns their number. */
  pruneJobs(before: number, limit: number): Promise<number>;
}
