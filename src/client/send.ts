/** How a client sends requests. */
export interface Sender {
  baseUrl: string;
  apiKey: string;
  /** Maximum number of retries after a temporary failure. */
  maxRetries: number;
  /** Timeout of each attempt, in milliseconds. */
  timeoutMs: number;
  fetch: typeof fetch;
  /** Waits between retries; replaced in tests. */
  sleep(ms: number): Promise<void>;
  /** A number in [0, 1). */
  random(): number;
}

export interface ClientRequest {
  method: string;
  /** Path and query. */
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 30_000;
/** A longer `Retry-After` is cut to this, so that a call does not hang for hours. */
const MOST_RETRY_AFTER_MS = 60_000;
/** Temporary: too many requests, and statuses from a proxy while the server restarts. */
const PASSING = new Set([429, 502, 503, 504]);

/**
 * Sends a request, and retries it after temporary failures: no response, 429, 502, 503, 504, or another request with the same
 * idempotency key still in progress. Honours `Retry-After`. @throws SignalpostError, and any error of `fetch`
 */
export async function send(sender: Sender, request: ClientRequest): Promise<unknown> {
  for (let attempt = 0; ; attempt++) {
    const outcome = await once(sender, request);
    if ('answer' in outcome) return outcome.answer;
    const isOver = request.signal?.aborted === true || attempt >= sender.maxRetries;
    if (!outcome.passes || isOver) throw outcome.error;
    await sender.sleep(Math.max(backoffMs(attempt, sender.random()), outcome.retryAfterMs));
  }
}

type AttemptResult = { answer: unknown } | { error: unknown; passes: boolean; retryAfterMs: number };

async function once(
  sender: Sender,
  { method, path, body, headers, signal }: ClientRequest,
): Promise<AttemptResult> {
  const timeout = AbortSignal.timeout(sender.timeoutMs);
  try {
    const response = await sender.fetch(`${sender.baseUrl}${path}`, {
      method,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${sender.apiKey}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
    const text = await response.text();
    if (response.ok) return { answer: text === '' ? undefined : JSON.parse(text) };
    const problem = problemOf(text);
    const passes = PASSING.has(response.status) || problem.code === 'IDEMPOTENCY_IN_FLIGHT';
    const retryAfterMs = Number(response.headers.get('retry-after') ?? 0) * 1_000;
    return {
      error: new SignalpostError(response.status, problem),
      passes,
      retryAfterMs: Number.isFinite(retryAfterMs) ? Math.min(retryAfterMs, MOST_RETRY_AFTER_MS) : 0,
    };
  } catch (error) {
    return { error, passes: signal?.aborted !== true, retryAfterMs: 0 };
  }
}

function problemOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Half a second, doubled on each retry, plus up to half of that at random. */
function backoffMs(attempt: number, fraction: number): number {
  return Math.min(FIRST_WAIT_MS * 2 ** attempt, MOST_WAIT_MS) * (1 + fraction / 2);
}

/** An error response: the server's problem details (RFC 9457). */
export class SignalpostError extends Error {
  override readonly name = 'SignalpostError';
  /** The HTTP status code. */
  readonly status: number;
  /** An error code such as `NOT_FOUND`; `UNKNOWN` if the response has none, for example because a proxy sent it. */
  readonly code: string;
  /** Errors in individual members or parameters. */
  readonly errors: readonly { pointer?: string; parameter?: string; detail: string }[];
  /** The ID of the request, for support; null if the response has none. */
  readonly requestId: string | null;

  constructor(status: number, problem: Record<string, unknown>) {
    super(
      typeof problem.detail === 'string' ? problem.detail : `The server responded with status ${status}.`,
    );
    this.status = status;
    this.code = typeof problem.code === 'string' ? problem.code : 'UNKNOWN';
    this.errors = Array.isArray(problem.errors) ? problem.errors : [];
    this.requestId = typeof problem.request_id === 'string' ? problem.request_id : null;
  }
}
