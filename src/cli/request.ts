import { Agent, request } from 'undici';
import type { Clock } from '../lib/clock.ts';

const MAX_BYTES = 8 * 1024 * 1024;

/** A complete HTTP response. */
export interface HttpResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** No complete response: connection refused, unknown host, interruption, or timeout. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError';
}

export interface HttpRequest {
  url: string;
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string;
  timeoutMs: number;
}

/** One request without redirects, under a single deadline. @throws NetworkError */
export async function fetchText(
  clock: Clock,
  { url, timeoutMs, ...options }: HttpRequest,
): Promise<HttpResponse> {
  const agent = new Agent({
    // Explicit, because the default depends on NODE_TLS_REJECT_UNAUTHORIZED.
    connect: { timeout: timeoutMs, rejectUnauthorized: true },
    headersTimeout: timeoutMs,
    maxResponseSize: MAX_BYTES,
  });
  // Not an AbortSignal, which has no effect before the connection is established.
  let expire = (_error: Error): void => undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    expire = reject;
  });
  const timer = clock.after(timeoutMs, () =>
    expire(new NetworkError(`${url}: no answer in ${timeoutMs / 1000} s`)),
  );
  try {
    return await Promise.race([readWhole(agent, url, options), deadline]);
  } catch (error) {
    if (error instanceof NetworkError) throw error;
    throw new NetworkError(`${url}: ${reason(error)}`);
  } finally {
    timer.cancel();
    void agent.destroy();
  }
}

async function readWhole(agent: Agent, url: string, options: Omit<HttpRequest, 'url' | 'timeoutMs'>) {
  const answer = await request(url, { dispatcher: agent, ...options });
  return { status: answer.statusCode, headers: answer.headers, text: await textOf(answer.body) };
}

const FIRST_BYTES = 16_384;

/** Copies chunks into one growing buffer: kept one by one, 8 MB in chunks of one byte took 1.2 GB. */
export async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  let bytes = new Uint8Array(FIRST_BYTES);
  let filled = 0;
  for await (const chunk of body) {
    const needed = filled + chunk.length;
    if (needed > bytes.length) {
      const larger = new Uint8Array(2 * needed);
      larger.set(bytes.subarray(0, filled));
      bytes = larger;
    }
    bytes.set(chunk, filled);
    filled = needed;
  }
  return new TextDecoder().decode(bytes.subarray(0, filled));
}

function reason(error: unknown): string {
  // `localhost` has two addresses: the errors of both are inside.
  const inner = error instanceof AggregateError ? error.errors[0] : error;
  return inner instanceof Error ? inner.message : String(inner);
}
