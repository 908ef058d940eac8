import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import type { Logger } from 'pino';
import type { ApiDeps } from './api/routes.ts';
import { v1 } from './api/v1.ts';
import type { Config } from './config.ts';
import { dashboard } from './dashboard/dashboard.ts';
import { type DashboardDeps, type DashboardLimits, dashboardLimits } from './dashboard/deps.ts';
import { type DigestLinkDeps, digestLinks } from './digest-links/digest-links.ts';
import type { DispatcherPulse } from './dispatcher/dispatcher.ts';
import { joinChunks } from './http/chunked-body.ts';
import {
  CONNECTION_LIMITS,
  type ConnectionLimits,
  closeFailedInTurns,
  connectionOptions,
  createLongPolls,
  LONG_POLL_LIMITS,
  type LongPollLimits,
} from './http/connections.ts';
import { addDeprecations, DEPRECATIONS, type Deprecation } from './http/deprecations.ts';
import {
  addErrorHandler,
  answerSpecialRequests,
  createClientErrorHandler,
  createErrorHandler,
} from './http/errors.ts';
import { addJsonBody, validatorCompiler } from './http/json-body.ts';
import { addRateLimits, trustIn } from './http/limits.ts';
import { createLoadGate, LOAD_LIMITS, type LoadLimits } from './http/load.ts';
import { superviseConnections } from './http/open-connections.ts';
import type { Description } from './http/openapi/describe-routes.ts';
import type { DescribedApi } from './http/openapi/schemas.ts';
import { createProblems } from './http/problems.ts';
import { handleInOrder, readInTurns } from './http/reading-turns.ts';
import { addRequestContext, createRequestIds } from './http/request-context.ts';
import { addRequestLog, addTracing, createRequestTally } from './http/request-log.ts';
import { routableTarget } from './http/request-path.ts';
import { createHandlerTurns } from './http/turns.ts';
import type { Tracer } from './lib/tracing.ts';
import { writeInTurns } from './lib/writing-turns.ts';
import type { ReadDocument } from './mcp/access-tokens.ts';
import { mcp } from './mcp/mcp.ts';
import { operation } from './operation/operation.ts';
import type { SiteContent } from './site/content/site-content.ts';
import { pages, publicApi } from './site/site.ts';
import type { OpenedStore } from './store/store.ts';

/** The dependencies of the faces. */
export interface AppDeps
  extends Omit<
      ApiDeps,
      | 'problems'
      | 'baseUrl'
      | 'deprecations'
      | 'sourceIps'
      | 'load'
      | 'handleInTurns'
      | 'longPolls'
      | 'feedbackLinks'
    >,
    Pick<DigestLinkDeps, 'feedbackLinks'>,
    Pick<DashboardDeps, 'previewSource'> {
  store: OpenedStore;
  config: Config;
  logger: Logger;
  /** The public site's pages and identity. */
  content: SiteContent;
  /** Reads documents of other hosts, such as the keys of authorization servers; omitted if nothing is read. */
  readDocument?: ReadDocument;
  /** The state of the dispatcher; omitted if none runs. */
  dispatcherPulse?(): DispatcherPulse;
  /** Dead letters expired since the process started. */
  expiredCount?(): number;
  /** Default: those in force. */
  deprecations?: readonly Deprecation[];
  /** Limits on connections. Default: {@link CONNECTION_LIMITS}. */
  connections?: ConnectionLimits;
  /** How much work is accepted at once. Default: {@link LOAD_LIMITS}. */
  loadLimits?: LoadLimits;
  /** Request limits of the dashboard. Default: from the configuration. */
  dashboardLimits?: DashboardLimits;
  /** How many requests may wait. Default: {@link LONG_POLL_LIMITS}. */
  longPollLimits?: LongPollLimits;
  /** Null or omitted: no tracing. */
  tracer?: Tracer | null;
}

const BODY_BYTES = 1024 * 1024;
/** The maximum size of a header: the router would respond to a longer path parameter outside all hooks. */
const MAX_PARAM_LENGTH = 16 * 1024;

/** The HTTP server, not yet listening: every face in order, each with its dependencies. */
export function buildApp(deps: AppDeps): FastifyInstance {
  const { config, logger, connections = CONNECTION_LIMITS } = deps;
  const problems = createProblems(config.baseUrl);
  const handleError = createErrorHandler({ problems, logger });
  const clientErrors = { ...deps, problems, baseUrl: config.baseUrl };
  const baseLogger: FastifyBaseLogger = logger;

  const app = Fastify({
    loggerInstance: baseLogger,
    // Requests are logged in one line of our own; a child logger per request costs as much as the request itself.
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (parent) => parent,
    genReqId: createRequestIds(deps.newId),
    trustProxy: config.trustProxy.length === 0 ? false : trustIn(config.trustProxy),
    bodyLimit: BODY_BYTES,
    ...connectionOptions(connections),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // Requests during shutdown are served; Fastify's own 503 is not a problem document.
    return503OnClosing: false,
    rewriteUrl: (request) => routableTarget(request.url ?? '/'),
    frameworkErrors: (error, request, reply) => void handleError(error, request, reply),
    clientErrorHandler: createClientErrorHandler(clientErrors),
  });
  closeFailedInTurns(app.server, deps.clock);
  readInTurns(app.server, deps.clock, handleInOrder(app.server));
  writeInTurns(app.server, deps.clock);
  superviseConnections(app, connections, deps.clock);
  answerSpecialRequests(
    app.server,
    clientErrors,
    (request, response) => void app.server.emit('request', request, response),
  );
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);

  addRequestContext(app, { problems, baseUrl: config.baseUrl });
  addTracing(app, deps.tracer ?? null);
  const requests = createRequestTally();
  const load = createLoadGate({ ...deps, limits: deps.loadLimits ?? LOAD_LIMITS });
  const longPolls = createLongPolls({ ...deps, load, limits: deps.longPollLimits ?? LONG_POLL_LIMITS });
  // Runs before the server waits for its requests: waiting requests get their response now.
  app.addHook('preClose', async () => longPolls.close());
  addRequestLog(app, { logger, tally: requests });
  const deprecations = deps.deprecations ?? DEPRECATIONS;
  addDeprecations(app, { baseUrl: config.baseUrl, deprecations });
  addErrorHandler(app, handleError);
  joinChunks(app);
  addJsonBody(app);

  const site = {
    sourceIps: config.webhookSourceIps.map((range) => range.text),
    ...deps,
    problems,
    load,
    handleInTurns: createHandlerTurns({ ...deps, load }),
    longPolls,
    deprecations,
    baseUrl: config.baseUrl,
    publicRateLimit: config.publicRateLimit,
    sessionLife: config.sessionLife,
    authorizationServers: config.mcpAuthorizationServers,
    dashboardLimits: deps.dashboardLimits ?? dashboardLimits(config.dashboardRateLimit),
  };
  addRateLimits(app);
  app.register(operation, {
    ...deps,
    problems,
    requests,
    load,
    dispatcher: deps.dispatcherPulse ?? null,
    expired: deps.expiredCount ?? (() => 0),
    token: config.adminMetricsToken,
  });
  const told = Promise.withResolvers<Description>();
  app.register(publicApi, { ...site, onDescribed: told.resolve, prefix: '/api' });
  // The site describes the signal API, but faces do not import each other: the description is passed on here.
  const signalTold = Promise.withResolvers<DescribedApi>();
  app.register(v1, { ...site, onDescribed: signalTold.resolve, prefix: '/v1' });
  app.register(mcp, { ...site, eventErrors: config.mcpEventErrors, prefix: '/mcp' });
  app.register(dashboard, { ...site, sendsMail: config.smtpUrl !== null, prefix: '/dashboard' });
  app.register(digestLinks, site);
  app.register(pages, { ...site, publicApi: told.promise, signalApi: signalTold.promise });
  return app;
}
