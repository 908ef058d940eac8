/** Every code a problem document can carry (CONTRACT of the APIs; `http/problems.ts` gives each its status and page). */
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

/** A problem's machine-readable code. */
export type ErrorCode = (typeof ERROR_CODES)[number];

/** One fault of a request: `pointer` (RFC 6901, into the body) or `parameter` (query, path), and what to do. */
export interface Fault {
  pointer?: string;
  parameter?: string;
  detail: string;
}

/** What goes into the problem document beside code and detail. */
export interface ProblemExtra {
  hint?: string;
  errors?: Fault[];
  /** How many faults there are, where `errors` holds the first of them only. */
  errorsTotal?: number;
  /** Whole seconds after which another try makes sense; becomes `Retry-After`. */
  retryAfterSeconds?: number;
  /** What ails the storage; for our log, never part of a document. */
  storage?: 'full' | 'outage';
  /** Further members of the document, by their wire names. */
  members?: Record<string, unknown>;
}

/** A refusal that the caller can understand and act on; anything else that is thrown is a bug and becomes `INTERNAL`. */
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

/** A single-fault `INVALID_REQUEST` at `pointer`. */
export function invalidAt(pointer: string, detail: string): DomainError {
  return new DomainError('INVALID_REQUEST', detail, { errors: [{ pointer, detail }] });
}

/** What ails the storage where that is why `error` was thrown, else null. */
export function storageFaultOf(error: unknown): 'full' | 'outage' | null {
  return error instanceof DomainError ? (error.extra.storage ?? null) : null;
}
