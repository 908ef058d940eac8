/** What a client sends requests with. */
export interface Sender {
  baseUrl: string;
  apiKey: string;
  /** Times that a request is sent again which failed for now. */
  maxRetries: number;
  /** Of one attempt, milliseconds. */
  timeoutMs: number;
  fetch: typeof fetch;
  /** Waits; for tests. */
  sleep(ms: number): Promise<void>;
  /** In [0, 1). */
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
/** A server that asks for more waits than a program would. */
const MOST_RETRY_AFTER_MS = 60_000;
/** Too many requests, and what a proxy answers while a server restarts. */
const PASSING = new Set([429, 502, 503, 504]);

/**
 * One request, sent again after failures that pass: no answer, 429, 502, 503, 504, and a first request under the same
 * idempotency key that still runs. `Retry-After` is waited for. @throws SignalpostError, and what `fetch` throws
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

type Outcome = { answer: unknown } | { error: unknown; passes: boolean; retryAfterMs: number };

async function once(
  sender: Sender,
  { method, path, body, headers, signal }: ClientRequest,
): Promise<Outcome> {
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

/** Half a second, doubled each time, up to half as long again at random. */
function backoffMs(attempt: number, fraction: number): number {
  return Math.min(FIRST_WAIT_MS * 2 ** attempt, MOST_WAIT_MS) * (1 + fraction / 2);
}

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
