/** An answer that is no success: a problem of RFC 9457 as the server made it. */
export class SignalpostError extends Error {
  override readonly name = 'SignalpostError';
  readonly status: number;
  /** Such as `NOT_FOUND`; `UNKNOWN` where something else than the server answered. */
  readonly code: string;
  /** Faults of single members or parameters. */
  readonly errors: readonly { pointer?: string; parameter?: string; detail: string }[];
  /** What support finds the request by. */
  readonly requestId: string | null;

  constructor(status: number, problem: Record<string, unknown>) {
    super(typeof problem.detail === 'string' ? problem.detail : `The server answered ${status}.`);
    this.status = status;
    this.code = typeof problem.code === 'string' ? problem.code : 'UNKNOWN';
    this.errors = Array.isArray(problem.errors) ? problem.errors : [];
    this.requestId = typeof problem.request_id === 'string' ? problem.request_id : null;
  }
}
