import type { Clock } from '../lib/clock.ts';

/** Every code of a problem document; `http/problems.ts` assigns each a status and a page. */
export const ERROR_CODES = [
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'RATE_LIMITED',
  'INVALID_REQUEST',
  'UNKNOWN_PARAMETER',
  'INVALID_CURSOR',
  'UNAUTHENTICATED',
  'INSUFFICIENT_SCOPE',
  'PLAN_REQUIRED',
  'NOT_ACCEPTABLE',
  'CONFLICT',
  'STAGE_CONFLICT',
  'PRECONDITION_FAILED',
  'IDEMPOTENCY_IN_FLIGHT',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'INVALID_TRANSITION',
  'IDEMPOTENCY_MISMATCH',
  'INTERNAL',
  'UNAVAILABLE',
] as const;

/** The machine-readable code of a problem. */
export type ErrorCode = (typeof ERROR_CODES)[number];

/**
 * One error in a request, with its location: `pointer` (RFC 6901, into the body) or `parameter` (query,
 * path).
 */
export interface Fault {
  pointer?: string;
  parameter?: string;
  detail: string;
}

/** How the storage fails: `damaged`, unlike the others, affects what is on damaged pages only, and does not pass. */
export type StorageFaultKind = 'full' | 'outage' | 'damaged';

/** Optional parts of a problem document. */
export interface ProblemExtra {
  hint?: string;
  errors?: Fault[];
  /** Total number of errors, if `errors` contains only the first of them. */
  errorsTotal?: number;
  /** Whole seconds until a retry makes sense; sent as `Retry-After`. */
  retryAfterSeconds?: number;
  /** The kind of storage failure, for our log only. */
  storage?: StorageFaultKind;
  /** Further members of the document, by their JSON names. */
  members?: Record<string, unknown>;
}

/**
 * An error that the caller can understand and act on. Any other exception is a bug and becomes `INTERNAL`.
 */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly code: ErrorCode;
  readonly extra: ProblemExtra;

  constructor(code: ErrorCode, detail: string, extra: ProblemExtra = {}) {
    super(detail);
    this.code = code;
    this.extra = extra;
  }
}

/** An `INVALID_REQUEST` with a single error, at `pointer`. */
export function invalidAt(pointer: string, detail: string): DomainError {
  return new DomainError('INVALID_REQUEST', detail, { errors: [{ pointer, detail }] });
}

/** The storage failure that caused `error`; null if there is none. */
export function storageFaultOf(error: unknown): StorageFaultKind | null {
  return error instanceof DomainError ? (error.extra.storage ?? null) : null;
}

/** Well below the 120 s without a byte after which the connection of a request is closed. */
const MOST_BATCH_MS = 90_000;

/**
 * Limits how long a batch that is stored in parts may take. Call the result between two parts.
 * @throws DomainError `UNAVAILABLE` if the batch began more than 90 s ago. A retry skips what is already stored, and continues.
 */
export function limitBatchTime(clock: Pick<Clock, 'monotonic'>): () => void {
  const until = clock.monotonic() + MOST_BATCH_MS;
  return () => {
    if (clock.monotonic() < until) return;
    throw new DomainError(
      'UNAVAILABLE',
      'Only part of the batch was stored within 90 s: send it again to continue. Items that are already stored are not stored twice.',
      { retryAfterSeconds: 1 },
    );
  };
}
