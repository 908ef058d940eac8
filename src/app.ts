import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import type { Logger } from 'pino';
import type { ApiParts } from './api/parts.ts';
import { v1 } from './api/v1.ts';
import type { Config } from './config.ts';
import { answerSpecialRequests, createClientErrorHandler } from './http/client-errors.ts';
import { addDeprecations, DEPRECATIONS, type Deprecation } from './http/deprecations.ts';
import { addErrorHandler, createErrorHandler } from './http/errors.ts';
import { addJsonBody } from './http/json-body.ts';
import { createProblems } from './http/problems.ts';
import { addRequestContext, createRequestIds } from './http/request-context.ts';
import { addRequestLog } from './http/request-log.ts';
import { routableTarget } from './http/request-path.ts';
import { validatorCompiler } from './http/validation.ts';
import type { SiteContent } from './site/content/site-content.ts';
import { pages, publicApi } from './site/site.ts';

/** What the faces need of the process. */
export interface AppParts extends Omit<ApiParts, 'problems' | 'baseUrl' | 'deprecations' | 'sourceIps'> {
  config: Config;
  logger: Logger;
  /** The public site's pages and identity. */
  content: SiteContent;
  /** Those in force, where it is left out. */
  deprecations?: readonly Deprecation[];
}

const BODY_BYTES = 1024 * 1024;
/** A request that has not arrived whole by then is answered 408. */
const REQUEST_TIMEOUT_MS = 60_000;
/** As long as a header may be: a longer path parameter would be answered outside all hooks. */
const MAX_PARAM_LENGTH = 16 * 1024;

/** The HTTP server, not yet listening: every face in order, each given its services. */
export function buildApp(parts: AppParts): FastifyInstance {
  const { config, logger } = parts;
  const problems = createProblems(config.baseUrl);
  const handleError = createErrorHandler({ problems, logger });
  const clientErrors = { ...parts, problems };
  const baseLogger: FastifyBaseLogger = logger;

  const app = Fastify({
    loggerInstance: baseLogger,
    // One line of our own for each request; a child logger for each costs as much as the request itself.
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (parent) => parent,
    genReqId: createRequestIds(parts.newId),
    trustProxy: config.trustProxy.length === 0 ? false : config.trustProxy.map((range) => range.text),
    bodyLimit: BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // A request that comes while the server closes is served; Fastify's own 503 would be no problem document.
    return503OnClosing: false,
    http: { requireHostHeader: false },
    rewriteUrl: (request) => routableTarget(request.url ?? '/'),
    frameworkErrors: (error, request, reply) => void handleError(error, request, reply),
    clientErrorHandler: createClientErrorHandler(clientErrors),
  });
  answerSpecialRequests(app.server, clientErrors, (request, response) => app.routing(request, response));
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);

  addRequestContext(app, { problems });
  addRequestLog(app, { logger });
  const deprecations = parts.deprecations ?? DEPRECATIONS;
  addDeprecations(app, { baseUrl: config.baseUrl, deprecations });
  addErrorHandler(app, handleError);
  addJsonBody(app);

  const site = {
    sourceIps: config.webhookSourceIps.map((range) => range.text),
    ...parts,
    problems,
    deprecations,
    baseUrl: config.baseUrl,
    publicRateLimit: config.publicRateLimit,
  };
  app.register(publicApi, { ...site, prefix: '/api' });
  app.register(v1, { ...site, prefix: '/v1' });
  app.register(pages, site);
  return app;
}
