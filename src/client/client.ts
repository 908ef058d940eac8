import { OPERATIONS, type Operations } from './operations.ts';
import { type ClientRequest, type Sender, send } from './send.ts';

export type * from './operations.ts';
export { SignalpostError } from './send.ts';
export { verifyWebhook, WebhookVerificationError } from './verify-webhook.ts';

/** Options of {@link createClient}. */
export interface ClientOptions {
  /** The server's base URL, such as `https://signals.example.com`. */
  baseUrl: string;
  apiKey: string;
  /** Maximum number of retries after a temporary failure. Default: 3. */
  maxRetries?: number;
  /** Timeout of each attempt, in milliseconds. Default: 60,000. */
  timeoutMs?: number;
  /** Used instead of the global `fetch`. */
  fetch?: typeof fetch;
  /** Used to wait between retries; for tests. */
  sleep?(ms: number): Promise<void>;
  /** A number in [0, 1), used to spread retries; for tests. */
  random?(): number;
}

/** Options of a single call. */
export interface CallOptions {
  /** The `Idempotency-Key` of a POST, the same for all its retries. Default: a random UUID. */
  idempotencyKey?: string;
  /** Additional request headers. */
  headers?: Record<string, string>;
  /** Aborts the call, including its retries. */
  signal?: AbortSignal;
}

type Name = keyof Operations;
type InputOf<N extends Name> = Operations[N]['input'];
type Arguments<N extends Name> = Operations[N]['free'] extends true
  ? [input?: InputOf<N>, options?: CallOptions]
  : [input: InputOf<N>, options?: CallOptions];

/** A list. Iterate over it to get the items of all pages, or read it page by page. */
export interface List<Item, Page> extends AsyncIterable<Item> {
  /** The requested page, with its `pagination`. */
  page(): Promise<Page>;
  /** The requested page and all following ones. */
  pages(): AsyncIterable<Page>;
}

/** An operation of /v1. Path and query parameters are members of its input; the request body is the member `body`. */
type OperationMethod<N extends Name> = (
  ...args: Arguments<N>
) => [Operations[N]['item']] extends [never]
  ? Promise<Operations[N]['answer']>
  : List<Operations[N]['item'], Operations[N]['answer']>;

/** A method for each operation of /v1, named by its `operationId`. */
export type Client = { readonly [N in Name]: OperationMethod<N> };

/** Creates a client for /v1, typed from the OpenAPI description. */
export function createClient({ baseUrl, apiKey, ...options }: ClientOptions): Client {
  const sender: Sender = {
    baseUrl: baseUrl.replace(/\/$/, ''),
    apiKey,
    maxRetries: 3,
    timeoutMs: 60_000,
    fetch: (...args) => fetch(...args),
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    random: Math.random,
    ...options,
  };
  const methods = Object.keys(OPERATIONS).map((name) => [name, methodOf(sender, name as Name)]);
  return Object.fromEntries(methods) as Client;
}

type Input = Record<string, unknown>;

function methodOf(sender: Sender, name: Name): (input?: Input, options?: CallOptions) => unknown {
  const [method, path, isList] = OPERATIONS[name];
  return (input = {}, options = {}) => {
    if (isList)
      return listOf((cursor) => send(sender, requestOf({ method, path }, { ...input, ...cursor }, options)));
    return send(sender, requestOf({ method, path }, input, options)).then(dataOf);
  };
}

/** The member `data` if there is one, otherwise the whole response body. */
function dataOf(answer: unknown): unknown {
  return typeof answer === 'object' && answer !== null && 'data' in answer ? answer.data : answer;
}

function requestOf(
  { method, path }: { method: string; path: string },
  { body, ...input }: Input,
  { idempotencyKey, headers = {}, signal }: CallOptions,
): ClientRequest {
  const query = new URLSearchParams();
  const taken = new Set<string>();
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    taken.add(name);
    return encodeURIComponent(String(input[name]));
  });
  for (const [name, value] of Object.entries(input)) {
    if (taken.has(name) || value === undefined || value === null) continue;
    for (const each of [value].flat()) query.append(name, String(each));
  }
  const key = idempotencyKey ?? crypto.randomUUID();
  return {
    method,
    path: query.size === 0 ? filled : `${filled}?${query}`,
    headers: method === 'POST' ? { 'idempotency-key': key, ...headers } : headers,
    ...(body !== undefined && { body }),
    signal,
  };
}

interface PageLike {
  data: unknown[];
  pagination: { next_cursor: string | null; has_more: boolean };
}

function listOf(read: (cursor: { cursor?: string }) => Promise<unknown>): List<unknown, unknown> {
  async function* pages(): AsyncGenerator<PageLike> {
    let page = (await read({})) as PageLike;
    yield page;
    for (let { next_cursor: cursor } = page.pagination; page.pagination.has_more && cursor !== null; ) {
      page = (await read({ cursor })) as PageLike;
      yield page;
      cursor = page.pagination.next_cursor;
    }
  }
  return {
    page: () => read({}),
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const { data } of pages()) yield* data;
    },
  };
}
