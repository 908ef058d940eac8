import { OPERATIONS, type Operations } from './operations.ts';
import { type ClientRequest, type Sender, send } from './send.ts';

export type * from './operations.ts';
export { SignalpostError } from './send.ts';
export { verifyWebhook, WebhookVerificationError } from './verify-webhook.ts';

/** Settings of a client. */
export interface ClientOptions {
  /** Where the server is, such as `https://signals.example.com`. */
  baseUrl: string;
  apiKey: string;
  /** Times that a request is sent again after a failure that passes; 3 where it is left out. */
  maxRetries?: number;
  /** Of one attempt, milliseconds; 60,000 where it is left out. */
  timeoutMs?: number;
  /** Stands in for the global `fetch`. */
  fetch?: typeof fetch;
  sleep?(ms: number): Promise<void>;
  random?(): number;
}

/** What may be said for one call. */
export interface CallOptions {
  /** What a POST is known by when it is sent again; a random one where it is left out. */
  idempotencyKey?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

type Name = keyof Operations;
type InputOf<N extends Name> = Operations[N]['input'];
type Arguments<N extends Name> = Operations[N]['free'] extends true
  ? [input?: InputOf<N>, options?: CallOptions]
  : [input: InputOf<N>, options?: CallOptions];

/** A list: its items one by one, over all pages, or a page at a time. */
export interface List<Item, Page> extends AsyncIterable<Item> {
  /** The page that the input asks for, with its `pagination`. */
  page(): Promise<Page>;
  /** That page and those behind it. */
  pages(): AsyncIterable<Page>;
}

/** An operation of /v1 by its `operationId`: path and query parameters in one object, the body in its member `body`. */
type Method<N extends Name> = (
  ...args: Arguments<N>
) => [Operations[N]['item']] extends [never]
  ? Promise<Operations[N]['answer']>
  : List<Operations[N]['item'], Operations[N]['answer']>;

export type Client = { readonly [N in Name]: Method<N> };

/** A client of /v1, typed from its description. */
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

/** What stands in `data`, where there is such a member. */
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
