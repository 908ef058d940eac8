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
import {
  boundConnections,
  CONNECTION_LIMITS,
  type ConnectionLimits,
  connectionOptions,
  createLongPolls,
  endQuietConnections,
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
import { addRateLimits } from './http/limits.ts';
import { createLoadGate, LOAD_LIMITS, type LoadLimits } from './http/load.ts';
import type { DescribedApi, Document } from './http/openapi/schemas.ts';
import { createProblems } from './http/problems.ts';
import { addRequestContext, createRequestIds } from './http/request-context.ts';
import { addRequestLog, addTracing, createRequestTally } from './http/request-log.ts';
import { routableTarget } from './http/request-path.ts';
import { handleInOrder, readInTurns } from './http/turns.ts';
import type { Tracer } from './lib/tracing.ts';
import type { ReadDocument } from './mcp/access-tokens.ts';
import { mcp } from './mcp/mcp.ts';
import { operation } from './operation/operation.ts';
import type { SiteContent } from './site/content/site-content.ts';
import { pages, publicApi } from './site/site.ts';
import type { OpenedStore } from './store/store.ts';

/** What the faces need of the process. */
export interface AppDeps
  extends Omit<
      ApiDeps,
      'problems' | 'baseUrl' | 'deprecations' | 'sourceIps' | 'load' | 'longPolls' | 'feedbackLinks'
    >,
    Pick<DigestLinkDeps, 'feedbackLinks'>,
    Pick<DashboardDeps, 'previewSource'> {
  store: OpenedStore;
  config: Config;
  logger: Logger;
  /** The public site's pages and identity. */
  content: SiteContent;
  /** Reads documents of other hosts, such as the keys of authorization servers; left out where nothing is read. */
  readDocument?: ReadDocument;
  /** How the dispatcher is doing; left out where none runs. */
  dispatcherPulse?(): DispatcherPulse;
  /** Dead letters that expired since the process began. */
  expiredCount?(): number;
  /** Those in force, where it is left out. */
  deprecations?: readonly Deprecation[];
  /** What connections may take; as {@link CONNECTION_LIMITS}, where it is left out. */
  connections?: ConnectionLimits;
  /** How much is taken on at once; as {@link LOAD_LIMITS}, where it is left out. */
  loadLimits?: LoadLimits;
  /** What the dashboard is asked in a minute; by the configuration, where it is left out. */
  dashboardLimits?: DashboardLimits;
  /** How many requests may wait; as {@link LONG_POLL_LIMITS}, where it is left out. */
  longPollLimits?: LongPollLimits;
  /** Null or left out: nothing is traced. */
  tracer?: Tracer | null;
}

const BODY_BYTES = 1024 * 1024;
/** As long as a header may be: a longer path parameter would be answered outside all hooks. */
const MAX_PARAM_LENGTH = 16 * 1024;

/** The HTTP server, not yet listening: every face in order, each given its services. */
export function buildApp(deps: AppDeps): FastifyInstance {
  const { config, logger, connections = CONNECTION_LIMITS } = deps;
  const problems = createProblems(config.baseUrl);
  const handleError = createErrorHandler({ problems, logger });
  const clientErrors = { ...deps, problems, baseUrl: config.baseUrl };
  const baseLogger: FastifyBaseLogger = logger;

  const app = Fastify({
    loggerInstance: baseLogger,
    // One line of our own for each request; a child logger for each costs as much as the request itself.
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (parent) => parent,
    genReqId: createRequestIds(deps.newId),
    trustProxy: config.trustProxy.length === 0 ? false : config.trustProxy.map((range) => range.text),
    bodyLimit: BODY_BYTES,
    ...connectionOptions(connections),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // A request that comes while the server closes is served; Fastify's own 503 would be no problem document.
    return503OnClosing: false,
    rewriteUrl: (request) => routableTarget(request.url ?? '/'),
    frameworkErrors: (error, request, reply) => void handleError(error, request, reply),
    clientErrorHandler: createClientErrorHandler(clientErrors),
  });
  boundConnections(app.server, connections);
  if (process.env.NOTURNS === undefined) readInTurns(app.server, deps.clock);
  handleInOrder(app.server);
  endQuietConnections(app);
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
  // Before the server waits for its requests: those that only wait are answered now.
  app.addHook('preClose', async () => longPolls.close());
  addRequestLog(app, { logger, tally: requests });
  const deprecations = deps.deprecations ?? DEPRECATIONS;
  addDeprecations(app, { baseUrl: config.baseUrl, deprecations });
  addErrorHandler(app, handleError);
  addJsonBody(app);

  const site = {
    sourceIps: config.webhookSourceIps.map((range) => range.text),
    ...deps,
    problems,
    load,
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
  const told = Promise.withResolvers<() => Document>();
  app.register(publicApi, { ...site, onDescribed: told.resolve, prefix: '/api' });
  // The site tells of the signal API, and faces do not know each other: what it needs is handed on here.
  const signalTold = Promise.withResolvers<DescribedApi>();
  app.register(v1, { ...site, onDescribed: signalTold.resolve, prefix: '/v1' });
  app.register(mcp, { ...site, eventErrors: config.mcpEventErrors, prefix: '/mcp' });
  app.register(dashboard, { ...site, sendsMail: config.smtpUrl !== null, prefix: '/dashboard' });
  app.register(digestLinks, site);
  app.register(pages, { ...site, publicApi: told.promise, signalApi: signalTold.promise });
  return app;
}
