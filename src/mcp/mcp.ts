import { isIP } from 'node:net';
import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addAuthentication, addKeyLimits, callerOf, type KeyLimitDeps } from '../http/auth.ts';
import { addCompression } from '../http/compression.ts';
import { addFaceGate } from '../http/face-gate.ts';
import { addShedding, type LoadGate } from '../http/load.ts';
import { type Problems, sendAsIs } from '../http/problems.ts';
import { recordActors, setApiHeaders } from '../http/request-context.ts';
import { tracedDeps } from '../http/request-log.ts';
import type { HandleInTurns } from '../http/turns.ts';
import { PACKAGE } from '../lib/package.ts';
import { parseUrl } from '../lib/text.ts';
import { presetScopes } from '../model/key.ts';
import { MCP_METADATA_PATH } from '../model/mcp.ts';
import { limitChallenges } from '../webhooks/subscriptions.ts';
import { createAccessTokens, type ReadDocument } from './access-tokens.ts';
import type { EventDeps } from './events.ts';
import { createServer } from './server.ts';
import type { McpCall } from './tool.ts';

/** An acknowledgement arrives in one chunk. */
const MAX_CHUNKS = 16;

/**
 * The SDK describes each invalid value of a message in its response: 48,000 took 0.3 s, and made 11 MB. Arguments of tools
 * have a few hundred.
 */
const MAX_VALUES = 2_000;

/** The SDK would run a hundred messages of an older client as one request towards the key's rate limit. */
const NO_BATCH = {
  jsonrpc: '2.0',
  id: null,
  error: { code: -32_600, message: 'Batches are not supported: send each message in a separate request.' },
};

/** Dependencies of the MCP server. */
export interface McpDeps extends EventDeps, KeyLimitDeps {
  problems: Problems;
  load: LoadGate;
  handleInTurns: HandleInTurns;
  logger: { warn(fields: object, message: string): void };
  /** Issuers whose access tokens are accepted in addition to API keys. */
  authorizationServers: readonly string[];
  /** Omitted if nothing is read from other hosts: then no access tokens are accepted. */
  readDocument?: ReadDocument;
}

/** The Model Context Protocol over Streamable HTTP, without sessions; registered at `/mcp`. */
export async function mcp(app: FastifyInstance, deps: McpDeps): Promise<void> {
  app.addHook('onRequest', (_request, reply, done) => {
    setApiHeaders(reply);
    done();
  });
  refuseForeignCallers(app, deps);
  const limits = addKeyLimits(app, deps);
  addFaceGate(app, {
    problems: deps.problems,
    hint: `Send JSON-RPC with POST; see ${deps.baseUrl}/developers/agents`,
    admit: limits.admitClient,
  });
  const { authorizationServers, readDocument } = deps;
  addChallenge(app, deps);
  addAuthentication(app, {
    ...deps,
    limits,
    identifyToken:
      authorizationServers.length > 0 && readDocument !== undefined
        ? createAccessTokens({ ...deps, readDocument })
        : null,
  });
  addShedding(app, { load: deps.load, ownerOf: ({ caller }) => caller?.tenant.id ?? '' });
  deps.handleInTurns(app);
  recordActors(app, deps.store, ({ caller }) =>
    caller === null ? null : { tenantId: caller.tenant.id, actor: caller.key.id },
  );
  addCompression(app);

  const events = { ...deps, sendTest: limitChallenges(deps.sendTest, deps.clock) };
  const calls = new WeakMap<Request, FastifyRequest>();
  const handler = createMcpHandler(
    ({ requestInfo }) => {
      const request = requestInfo && calls.get(requestInfo);
      if (request === undefined) throw new Error('there is no request for this server');
      return createServer(callOf(deps, request), {
        version: PACKAGE.version,
        events,
        report: (err) => request.log.error({ err, request_id: request.id }, 'tool failed'),
      });
    },
    { keepAliveMs: 0 },
  );
  app.addHook('onClose', () => handler.close());
  app.post('', { config: { scope: 'any', maxValues: MAX_VALUES } }, (request, reply) =>
    answer(handler, calls, request, reply),
  );
}

function callOf(deps: McpDeps, request: FastifyRequest): McpCall {
  const caller = callerOf(request);
  return { deps: tracedDeps(request, deps), caller, tenantId: caller.tenant.id };
}

/** Passes an authenticated request to the SDK, and its complete response to Fastify. */
async function answer(
  handler: McpHttpHandler,
  calls: WeakMap<Request, FastifyRequest>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  if (Array.isArray(request.body)) return reply.code(400).send(NO_BATCH);
  const asked = new Request(`http://localhost${request.url}`, {
    method: 'POST',
    headers: new Headers(
      Object.entries(request.headers).flatMap(([name, value]) =>
        typeof value === 'string' ? [[name, value] as [string, string]] : [],
      ),
    ),
  });
  // The 2025 revision rejects clients that do not accept both types; below, they get their single message as
  // JSON.
  asked.headers.set('accept', 'application/json, text/event-stream');
  calls.set(asked, request);
  const answered = await handler.fetch(asked, { parsedBody: request.body });
  reply.code(answered.status);
  for (const name of ['content-type', 'allow', 'mcp-protocol-version']) {
    const value = answered.headers.get(name);
    if (value !== null) reply.header(name, value);
  }
  // A response of the 2025 revision is a stream of one message, which ends immediately.
  const body = listens(request.body) ? await firstFrame(answered) : await answered.text();
  // JSON may contain U+2028 and U+2029, where `.` and `$` would end.
  const message = /(?:^|\n)data: (\{[^\n]*)/.exec(body)?.[1];
  const isJson = message !== undefined && !request.headers.accept?.includes('text/event-stream');
  return isJson ? sendAsIs(reply, 'application/json', message) : reply.serializer(asText).send(body);
}

function listens(body: unknown): boolean {
  return typeof body === 'object' && body !== null && Reflect.get(body, 'method') === 'subscriptions/listen';
}

/**
 * Returns the acknowledgement of `subscriptions/listen`, and ends its stream: lists change only with the key,
 * so there is nothing to wait for, and an idle connection would take up resources.
 */
async function firstFrame({ body }: Response): Promise<string> {
  if (body === null) return '';
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (let chunks = 0; chunks < MAX_CHUNKS && !text.includes('\n\n'); chunks++) {
    const { value, done } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  return text;
}

function asText(text: string): string {
  return text;
}

/**
 * Adds the challenge of RFC 9728, section 5.1, and, if access tokens are accepted, the error and scopes of
 * RFC 6750, section 3.
 */
function addChallenge(
  app: FastifyInstance,
  { baseUrl, authorizationServers }: Pick<McpDeps, 'baseUrl' | 'authorizationServers'>,
): void {
  const challenge = `Bearer realm="Signalpost", resource_metadata="${baseUrl}${MCP_METADATA_PATH}"`;
  const scopes = authorizationServers.length > 0 ? `, scope="${presetScopes('read')?.join(' ')}"` : '';
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (reply.statusCode === 401) {
      const isRefused = scopes !== '' && request.headers.authorization !== undefined;
      reply.header('www-authenticate', `${challenge}${scopes}${isRefused ? ', error="invalid_token"' : ''}`);
    }
    done();
  });
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Rejects requests that a web page could make a browser send (DNS rebinding): those with a `Host` that is
 * neither ours nor an IP address, or with an `Origin` of another site.
 */
function refuseForeignCallers(
  app: FastifyInstance,
  { problems, baseUrl }: { problems: Problems; baseUrl: string },
): void {
  const own = new URL(baseUrl).hostname;
  const isOurs = (hostname: string) => hostname === own || LOOPBACK.has(hostname);
  app.addHook('onRequest', (request, reply, done) => {
    const { host, origin } = request.headers;
    const asked = hostnameOf(`http://${host ?? ''}`);
    const isForeign =
      asked === null || !(isOurs(asked) || isIP(asked.replace(/^\[|\]$/g, '')) !== 0)
        ? 'Host'
        : origin !== undefined && !isOurs(hostnameOf(origin) ?? '')
          ? 'Origin'
          : null;
    if (isForeign === null) return done();
    problems.send(request, reply, {
      code: 'INVALID_REQUEST',
      status: 403,
      detail: `The ${isForeign} header names another site.`,
      extra: { hint: `Send requests to ${baseUrl}/mcp, and not from a web page of another site.` },
    });
  });
}

function hostnameOf(address: string): string | null {
  return parseUrl(address)?.hostname ?? null;
}
