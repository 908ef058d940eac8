import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { callerOf, type KeyLimitDeps } from '../http/auth.ts';
import { entityTag, preconditionOf, refuseUnmatchable, sendNotModified } from '../http/compression.ts';
import type { LongPolls } from '../http/connections.ts';
import type { Deprecation } from '../http/deprecations.ts';
import { runParts } from '../http/idempotency.ts';
import type { LoadGate } from '../http/load.ts';
import type { DescribedApi } from '../http/openapi/schemas.ts';
import { JSON_TYPE, sendAsIs } from '../http/problems.ts';
import type { Caller } from '../http/request-context.ts';
import { pathId } from '../http/request-path.ts';
import type { HandleInTurns } from '../http/turns.ts';
import type { LeadDeps } from '../leads/changes.ts';
import type { Cursors } from '../lib/cursor.ts';
import type { SeededRandom } from '../lib/secret-box.ts';
import type { TagName } from '../model/public-api.ts';
import type { Suggester } from '../signals/suggestions.ts';
import type { Precondition } from '../store/change-until-it-holds.ts';
import type { EndpointDeps } from '../webhooks/endpoints.ts';
import type { SendTest } from '../webhooks/test-delivery.ts';

/** The parameters of a path: `id` of `/leads/:id`. */
export type NamesIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesIn<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** The members of a query. */
export type QueryShape = z.ZodRawShape;
/** The query of operations without parameters: unknown ones are rejected. */
export type NoQuery = Record<never, z.ZodType>;

/** The description of an operation; hooks read the members of `config` other than the scope. */
export interface OperationInfo extends Pick<FastifyContextConfig, 'problems' | 'showsSecret' | 'versioned'> {
  operationId: string;
  summary: string;
  description?: string;
  scope: NonNullable<FastifyContextConfig['scope']>;
}

/** The input of an operation. */
export interface OperationInput<Name extends string, Q extends QueryShape, B extends z.ZodType>
  extends OperationInfo {
  /** Path parameters that are not plain ids. */
  params?: Partial<Record<Name, z.ZodType<string, string>>>;
  query?: Q;
  body?: B;
}

/** A validated request for an operation. */
export interface Call<Name extends string, Q extends QueryShape, B extends z.ZodType> {
  request: FastifyRequest;
  reply: FastifyReply;
  readonly caller: Caller;
  readonly tenantId: string;
  params: Record<Name, string>;
  query: z.output<z.ZodObject<Q>>;
  body: z.output<B>;
  /**
   * The dependencies of this request: changes made with them belong to its trace, and a POST is safe to retry
   * ({@link runParts}). Handlers get no others.
   */
  readonly deps: ApiDeps;
  /** Like `deps`, for one of several items that a POST processes; `item` numbers it. */
  depsOf(item: string): ApiDeps;
  /** The precondition of `If-Match` on the changed resource. */
  readonly when: Precondition;
  /** Sets the `ETag` of a resource: `shown` is its `data` in a GET, or the whole body as text. */
  tag<T>(of: { id: string; version: number }, shown: T): T;
  /** Sets 201 with the path under /v1 of what was created. */
  created(path: string): void;
}

/** An operation that returns `{data: …}`. */
export interface Operation<
  Name extends string,
  Q extends QueryShape,
  B extends z.ZodType,
  A extends z.ZodType,
> extends OperationInput<Name, Q, B> {
  /** The schema of `data`. */
  answer: A;
  /** The success statuses and, if the schema does not distinguish them, their meanings; defaults to 200. */
  statuses?: Record<number, string | null>;
  /** Returns `data`, or the whole body, concatenated from stored JSON. */
  handle(call: Call<Name, Q, B>): Promise<z.output<A> | string | Buffer>;
}

type Add = <
  Path extends string,
  A extends z.ZodType,
  Q extends QueryShape = NoQuery,
  B extends z.ZodType = z.ZodUndefined,
>(
  path: Path,
  operation: Operation<NamesIn<Path>, Q, B, A>,
) => void;

/** The routes of one resource: validation, description and response of each common kind of operation. */
export interface Routes {
  get: Add;
  post: Add;
  put: Add;
  patch: Add;
  /** A POST that creates a resource with an `id`, available at that path. */
  create<
    Path extends string,
    A extends z.ZodType<{ id: string }>,
    Q extends QueryShape = NoQuery,
    B extends z.ZodType = z.ZodUndefined,
  >(path: Path, operation: Operation<NamesIn<Path>, Q, B, A>): void;
  /** A DELETE, which returns nothing; `gone` describes the result. */
  remove<Path extends string>(
    path: Path,
    operation: OperationInput<NamesIn<Path>, NoQuery, z.ZodUndefined> & {
      gone: string;
      handle(call: Call<NamesIn<Path>, NoQuery, z.ZodUndefined>): Promise<void>;
    },
  ): void;
  /** Any other: `METHOD /path` under /v1. */
  add<Path extends string, Q extends QueryShape, B extends z.ZodType>(
    route: `${HttpMethod} ${Path}`,
    operation: Served<Path, Q, B>,
  ): void;
}

/**
 * The routes of a tag, complete with what all resources of /v1 share: handlers use only the dependencies of their
 * call.
 */
export type RoutesOf = (tag: TagName) => Routes;

/** Adds routes to `app` that belong to `tag`. */
export function routesOf(app: FastifyInstance, deps: ApiDeps, tag: TagName): Routes {
  const to = { app, deps, tag };
  const add =
    (method: HttpMethod): Add =>
    (path, { answer, statuses = { 200: null }, handle, ...taken }) => {
      const described = answer.description === undefined ? answer.describe('The result.') : answer;
      const schema = z.strictObject({ data: described });
      const response = Object.entries(statuses).map(([status, meaning]) => [
        status,
        meaning === null ? schema : schema.describe(meaning),
      ]);
      addRoute(to, `${method} ${path}`, {
        ...taken,
        response: Object.fromEntries(response),
        async answer(call) {
          const data = await handle(call);
          if (sendNotModified(call.request, call.reply, data)) return call.reply;
          const isBody = typeof data === 'string' || Buffer.isBuffer(data);
          return isBody ? sendAsIs(call.reply, JSON_TYPE, data) : { data };
        },
      });
    };
  const post = add('POST');
  return {
    get: add('GET'),
    post,
    put: add('PUT'),
    patch: add('PATCH'),
    create: (path, operation) =>
      post(path, {
        ...operation,
        statuses: { 201: null },
        async handle(call) {
          const made = await operation.handle(call);
          if (typeof made !== 'string' && !Buffer.isBuffer(made)) call.created(`${path}/${made.id}`);
          return made;
        },
      }),
    remove: (path, { gone, handle, ...taken }) =>
      addRoute(to, `DELETE ${path}`, {
        ...taken,
        response: { 204: z.undefined().describe(gone) },
        async answer(call) {
          await handle(call);
          return call.reply.code(204).send();
        },
      }),
    add: (route, operation) => addRoute(to, route, operation),
  };
}

type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A route for Fastify: the responses by status, and the handler. */
interface Served<Path extends string, Q extends QueryShape, B extends z.ZodType>
  extends OperationInput<NamesIn<Path>, Q, B> {
  response: Record<number, z.ZodType>;
  /** Maximum size of the body in bytes, if it differs from the default. */
  bodyLimit?: number;
  config?: Pick<FastifyContextConfig, 'itemwise' | 'batchOf'>;
  answer(call: Call<NamesIn<Path>, Q, B>): unknown;
}

/** Adds one route, `METHOD /path` under /v1. */
function addRoute<Path extends string, Q extends QueryShape, B extends z.ZodType>(
  { app, deps, tag }: { app: FastifyInstance; deps: ApiDeps; tag: TagName },
  route: `${HttpMethod} ${Path}`,
  operation: Served<Path, Q, B>,
): void {
  const {
    scope,
    problems,
    showsSecret,
    versioned,
    params,
    query,
    body,
    response,
    bodyLimit,
    config,
    answer,
    ...told
  } = operation;
  const [method = '', url = ''] = route.split(' ');
  const names = [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => name as NamesIn<Path>);
  app.route({
    method,
    url,
    ...(bodyLimit !== undefined && { bodyLimit }),
    config: {
      scope,
      ...(problems && { problems }),
      ...(showsSecret && { showsSecret }),
      ...(versioned && { versioned }),
      ...config,
    },
    schema: {
      ...told,
      tags: [tag],
      ...(names.length > 0 && {
        params: z.strictObject(Object.fromEntries(names.map((name) => [name, params?.[name] ?? pathId]))),
      }),
      querystring: z.strictObject(query ?? {}),
      ...(body && { body }),
      response,
    },
    handler(request, reply) {
      refuseUnmatchable(request);
      return answer(callOf<NamesIn<Path>, Q, B>(deps, request, reply));
    },
  });
}

/** The parsed request, whose type Fastify cannot infer through a helper. */
function callOf<Name extends string, Q extends QueryShape, B extends z.ZodType>(
  deps: ApiDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Call<Name, Q, B> {
  let own: ApiDeps | null = null;
  return {
    request,
    reply,
    params: request.params as Record<Name, string>,
    query: request.query as z.output<z.ZodObject<Q>>,
    body: request.body as z.output<B>,
    get caller() {
      return callerOf(request);
    },
    get tenantId() {
      return callerOf(request).tenant.id;
    },
    get deps() {
      own ??= runParts(request, deps);
      return own;
    },
    get when() {
      return preconditionOf(request);
    },
    tag(of, shown) {
      reply.header('etag', entityTag(of, typeof shown === 'string' ? shown : JSON.stringify(shown)));
      return shown;
    },
    depsOf: (item) => runParts(request, deps, item),
    created(path) {
      reply.code(201).header('location', `${deps.baseUrl}/v1${path}`);
    },
  };
}

/** Dependencies of the routes of /v1. */
export interface ApiDeps extends LeadDeps, EndpointDeps, KeyLimitDeps {
  cursors: Cursors;
  /** Rejects requests under overload. */
  load: LoadGate;
  handleInTurns: HandleInTurns;
  longPolls: LongPolls;
  /** Randomness that is the same for each run of a retried request. */
  seededRandom: SeededRandom;
  /** Deprecated operations; the OpenAPI document marks them too. */
  deprecations: readonly Deprecation[];
  /** Why programs may not read a URL; null if they may or it is unknown; omitted: not checked. */
  refusalOf?: (tenantId: string, address: string) => Promise<string | null>;
  sendTest: SendTest;
  suggester: Suggester;
  /** Receives the OpenAPI document once the routes are registered. */
  onDescribed?(described: DescribedApi): void;
  /** Published address ranges that deliveries are sent from. */
  sourceIps: readonly string[];
}
