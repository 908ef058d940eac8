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
/** The query of operations without parameters: unknown ones are refused. */
export type NoQuery = Record<never, z.ZodType>;

/** What an operation says of itself; `config` besides the scope is read by those who serve it. */
export interface OperationInfo extends Pick<FastifyContextConfig, 'problems' | 'showsSecret' | 'versioned'> {
  operationId: string;
  summary: string;
  description?: string;
  scope: NonNullable<FastifyContextConfig['scope']>;
}

/** What an operation takes. */
export interface OperationInput<Name extends string, Q extends QueryShape, B extends z.ZodType>
  extends OperationInfo {
  /** Parameters of its path that are no plain ids. */
  params?: Partial<Record<Name, z.ZodType<string, string>>>;
  query?: Q;
  body?: B;
}

/** One request for an operation, checked by its schemas. */
export interface Call<Name extends string, Q extends QueryShape, B extends z.ZodType> {
  request: FastifyRequest;
  reply: FastifyReply;
  readonly caller: Caller;
  readonly tenantId: string;
  params: Record<Name, string>;
  query: z.output<z.ZodObject<Q>>;
  body: z.output<B>;
  /**
   * What the request reads and makes its changes with: they belong to its trace, and a POST is safe to send again
   * ({@link runParts}). A handler is given no others.
   */
  readonly deps: ApiDeps;
  /** As `deps`, for one of several things that a POST makes side by side; `item` numbers it. */
  depsOf(item: string): ApiDeps;
  /** What `If-Match` requires of the resource that is changed. */
  readonly when: Precondition;
  /** Gives the answer the `ETag` of a resource: `shown` is what a GET of it shows in `data`, or its whole body as text. */
  tag<T>(of: { id: string; version: number }, shown: T): T;
  /** Says that something was made, which is at this path of /v1. */
  created(path: string): void;
}

/** An operation that answers `{data: …}`. */
export interface Operation<
  Name extends string,
  Q extends QueryShape,
  B extends z.ZodType,
  A extends z.ZodType,
> extends OperationInput<Name, Q, B> {
  /** What stands in `data`. */
  answer: A;
  /** The successes there are and, where the schema does not tell them apart, what each means; 200 where left out. */
  statuses?: Record<number, string | null>;
  /** Answers what stands in `data`, or as text the whole body, put together of stored JSON. */
  handle(call: Call<Name, Q, B>): Promise<z.output<A> | string>;
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

/** The routes of one resource: how each common kind of operation is checked, described and answered. */
export interface Routes {
  get: Add;
  post: Add;
  put: Add;
  patch: Add;
  /** A POST that makes something with an `id`, which is at its path from then on. */
  create<
    Path extends string,
    A extends z.ZodType<{ id: string }>,
    Q extends QueryShape = NoQuery,
    B extends z.ZodType = z.ZodUndefined,
  >(path: Path, operation: Operation<NamesIn<Path>, Q, B, A>): void;
  /** A DELETE, which answers nothing; `gone` says what has become of the thing. */
  remove<Path extends string>(
    path: Path,
    operation: OperationInput<NamesIn<Path>, NoQuery, z.ZodUndefined> & {
      gone: string;
      handle(call: Call<NamesIn<Path>, NoQuery, z.ZodUndefined>): Promise<void>;
    },
  ): void;
  /** Any other: `METHOD /path` under /v1. */
  add<Path extends string, Q extends QueryShape, B extends z.ZodType>(
    route: `${Method} ${Path}`,
    operation: Served<Path, Q, B>,
  ): void;
}

/** The routes of a tag: all that the resources of /v1 are given, so that no handler has parts but those of its call. */
export type RoutesOf = (tag: TagName) => Routes;

/** Adds routes to `app` that belong to `tag`. */
export function routesOf(app: FastifyInstance, deps: ApiDeps, tag: TagName): Routes {
  const to = { app, deps, tag };
  const add =
    (method: Method): Add =>
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
          return typeof data === 'string' ? sendAsIs(call.reply, JSON_TYPE, data) : { data };
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
          if (typeof made !== 'string') call.created(`${path}/${made.id}`);
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

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A route as Fastify is given it: the answers by status, and what is sent. */
interface Served<Path extends string, Q extends QueryShape, B extends z.ZodType>
  extends OperationInput<NamesIn<Path>, Q, B> {
  response: Record<number, z.ZodType>;
  /** The largest body, in bytes, where it is not that of all. */
  bodyLimit?: number;
  config?: Pick<FastifyContextConfig, 'itemwise' | 'batchOf'>;
  answer(call: Call<NamesIn<Path>, Q, B>): unknown;
}

/** Adds one route, `METHOD /path` under /v1. */
function addRoute<Path extends string, Q extends QueryShape, B extends z.ZodType>(
  { app, deps, tag }: { app: FastifyInstance; deps: ApiDeps; tag: TagName },
  route: `${Method} ${Path}`,
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

/** The request as its schemas have read it, which Fastify's types cannot follow through a helper. */
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

/** What the routes of /v1 need of the process. */
export interface ApiDeps extends LeadDeps, EndpointDeps, KeyLimitDeps {
  cursors: Cursors;
  /** Turns requests away while there are too many. */
  load: LoadGate;
  longPolls: LongPolls;
  /** The same chance for each run of a request that is sent again. */
  seededRandom: SeededRandom;
  /** Operations that will go; the description says so too. */
  deprecations: readonly Deprecation[];
  /** Why a program may not read an address, null where it may or that is not known; left out: nobody can tell. */
  refusalOf?: (address: string) => Promise<string | null>;
  sendTest: SendTest;
  suggester: Suggester;
  /** Hears how the API describes itself, once its routes are there. */
  onDescribed?(described: DescribedApi): void;
  /** Address ranges that deliveries come from, as published. */
  sourceIps: readonly string[];
}
