import type { Command } from 'commander';
import { z } from 'zod';
import { readRetryAfter } from '../lib/clock.ts';
import { OPENAPI_PATH, PUBLIC_OPERATIONS, type PublicOperation } from '../model/public-api.ts';
import { CommandError, EXIT, type Ports } from './ports.ts';
import { fetchText, type HttpResponse, NetworkError } from './request.ts';

const TIMEOUT_MS = 10_000;

/** A command that queries a running server without a key. All of them share these exit codes. */
function addPublicCommand(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(`${description}; exit code 0 success, 1 API error, 2 network error, 3 rate limited`)
    .option('--base-url <url>', 'address of the server (or SIGNALPOST_URL; else http://localhost:PORT)');
}

interface PublicCall {
  /** From `--base-url`. */
  baseUrl: string | undefined;
  path: string;
  accept: string;
  /** A bearer token to send; it never appears in any message. */
  token?: string | undefined;
}

/** The server's response, whatever its status. @throws CommandError for 429, or if there was no response */
async function askServer(ports: Ports, { baseUrl, path, accept, token }: PublicCall) {
  const url = new URL(`${serverAddress(ports.env, baseUrl)}${path}`).href;
  const headers = { accept, ...(token && { authorization: `Bearer ${token}` }) };
  const answer = await ask(ports, url, headers);
  if (answer.status === 429) throw rateLimited(answer, ports.clock.now());
  return { ...answer, url };
}

/** The JSON of a 200 that matches `promise`, as text and parsed. @throws CommandError for anything else */
async function askForJson<S extends z.ZodType>(
  ports: Ports,
  call: Omit<PublicCall, 'accept'>,
  promise: S,
): Promise<{ text: string; value: z.output<S> }> {
  const answer = await askServer(ports, { ...call, accept: 'application/json' });
  if (answer.status !== 200) throw apiError(answer);
  const checked = promise.safeParse(parseJson(answer.text));
  if (checked.success) return { text: answer.text.trimEnd(), value: checked.data };
  throw new CommandError(
    `${answer.url} returned 200, but not the documented response of ${call.path}:\n${answer.text}`.trimEnd(),
  );
}

/** An unsuccessful response, with its problem document. */
function apiError({ url, status, text }: { url: string; status: number; text: string }): CommandError {
  return new CommandError(`${url} answered ${status}\n${text}`.trimEnd());
}

async function ask(ports: Ports, url: string, headers: Record<string, string>): Promise<HttpResponse> {
  try {
    return await fetchText(ports.clock, { url, headers, timeoutMs: TIMEOUT_MS });
  } catch (error) {
    if (error instanceof NetworkError) throw new CommandError(error.message, EXIT.network);
    throw error;
  }
}

/** The URL of the server for a command, without a trailing slash. @throws CommandError */
export function serverAddress(env: NodeJS.ProcessEnv, option: string | undefined): string {
  const text = option ?? (env.SIGNALPOST_URL || `http://localhost:${env.PORT || 3000}`);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '') {
    return text.replace(/\/+$/, '');
  }
  throw new CommandError(
    `"${text}" is not the address of a server, such as http://localhost:3000`,
    EXIT.usage,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function rateLimited({ headers }: HttpResponse, now: number): CommandError {
  const ms = readRetryAfter(headers['retry-after'], now);
  return new CommandError(
    `Rate limited. Retry-After: ${ms === null ? 'unknown' : Math.ceil(ms / 1_000)}`,
    EXIT.rateLimited,
  );
}

/** A command for each operation of the public API: prints the response if it has the documented form. */
export function addOperations(parent: Command, ports: Ports): void {
  for (const operation of PUBLIC_OPERATIONS) {
    const { command, summary } = operation;
    const added = addPublicCommand(parent, command, `${summary.toLowerCase()} of a running server`);
    if (command === 'health')
      added.option('--ready', 'check that the server is doing its work, not only that it is running');
    added.action(async ({ baseUrl, ready }: { baseUrl?: string; ready?: boolean }) => {
      const ask = ready ? askReadiness(ports, baseUrl) : askPublic(ports, baseUrl, operation);
      ports.out(await ask);
    });
  }
}

async function askPublic(
  ports: Ports,
  baseUrl: string | undefined,
  { path, response }: PublicOperation,
): Promise<string> {
  return (await askForJson(ports, { baseUrl, path }, response)).text;
}

/**
 * The response of `/ready` if the server is ready. The server's token, if any, is read from the same variable.
 * @throws CommandError with the failed checks if it is not
 */
async function askReadiness(ports: Ports, baseUrl: string | undefined): Promise<string> {
  const token = ports.env.ADMIN_METRICS_TOKEN?.trim();
  const answer = await askServer(ports, { baseUrl, path: '/ready', accept: 'application/json', token });
  if (answer.status !== 200) throw apiError(answer);
  return answer.text.trimEnd();
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;
const operationSchema = z.object({ operationId: z.string(), summary: z.string().optional() });
const pathItemSchema = z.object(
  Object.fromEntries(METHODS.map((method) => [method, operationSchema.optional()])),
);

/** The members of an OpenAPI document that are used here. */
const descriptionSchema = z.object({
  openapi: z.string().startsWith('3.'),
  info: z.object({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), pathItemSchema),
});

/** `openapi`: the description of the public API, or the list of its operations. */
export function addOpenApi(parent: Command, ports: Ports): void {
  addPublicCommand(parent, 'openapi', 'OpenAPI description of a running server')
    .option('--operations', 'list only the operations: ID, method, path and summary of each')
    .action(async ({ baseUrl, operations }: { baseUrl?: string; operations?: true }) => {
      const { text, value } = await askForJson(ports, { baseUrl, path: OPENAPI_PATH }, descriptionSchema);
      ports.out(operations ? JSON.stringify(listOperations(value), null, 2) : text);
    });
}

function listOperations({ paths }: z.infer<typeof descriptionSchema>) {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      if (operation === undefined) return [];
      const { operationId, summary = '' } = operation;
      return [{ operationId, method: method.toUpperCase(), path, summary }];
    }),
  );
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** `page PATH`: any page of the site as markdown. */
export function addPage(parent: Command, ports: Ports): void {
  addPublicCommand(parent, 'page', 'print a page of a running server as markdown')
    .argument('<path>', 'path of the page, such as /pricing')
    .action(async (path: string, { baseUrl }: { baseUrl?: string }) => {
      ports.out(await readPage(ports, baseUrl, path));
    });
}

async function readPage(ports: Ports, baseUrl: string | undefined, path: string): Promise<string> {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path)) {
    throw new CommandError(`"${path}" is a URL. Give only its path, such as /pricing`, EXIT.usage);
  }
  const call = { baseUrl, path: path.startsWith('/') ? path : `/${path}`, accept: 'text/markdown' };
  const answer = await askFollowing(ports, call);
  if (answer.status !== 200) throw apiError(answer);
  const type = String(answer.headers['content-type'] ?? 'no content type');
  if (!/^text\/markdown\s*(;|$)/i.test(type)) {
    throw new CommandError(`${answer.url} returned 200, but ${type} instead of markdown`);
  }
  return answer.text.trimEnd();
}

/** Follows one redirect, such as for a trailing slash, and only to the same server. */
async function askFollowing(ports: Ports, call: PublicCall) {
  const first = await askServer(ports, call);
  const location = first.headers.location;
  if (!REDIRECTS.has(first.status) || typeof location !== 'string') return first;
  const target = URL.canParse(location, first.url) ? new URL(location, first.url) : null;
  if (target === null || target.origin !== new URL(first.url).origin) return first;
  return askServer(ports, { ...call, baseUrl: target.origin, path: `${target.pathname}${target.search}` });
}
