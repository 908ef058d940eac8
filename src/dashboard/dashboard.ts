import cookie from '@fastify/cookie';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { selfOf } from '../accounts/links.ts';
import { createMailLimits } from '../accounts/mail.ts';
import { CODE_TRIES, createPasswords, createWrongPasswords, PASSWORD_TRIES } from '../accounts/passwords.ts';
import { createBodyTurns } from '../http/body-turns.ts';
import { addCompression } from '../http/compression.ts';
import { frameworkFault } from '../http/errors.ts';
import { clientOf } from '../http/limits.ts';
import { addShedding } from '../http/load.ts';
import { problemStatus } from '../http/problems.ts';
import { recordActors } from '../http/request-context.ts';
import { followTrace, routeOf } from '../http/request-log.ts';
import { DomainError } from '../model/errors.ts';
import { addAccount, addAccountScreens, addApiKeys, addDigestSettings, addSecondFactor } from './account.ts';
import { addAudit } from './audit.ts';
import { addCampaigns } from './campaigns.ts';
import { addCompanies, addCompanyEdit } from './companies.ts';
import { addCsrf, COOKIE_CODING } from './cookies.ts';
import type { DashboardDeps } from './deps.ts';
import { addExports } from './exports.ts';
import { addFind } from './find.ts';
import { FORM_BYTES, parseForm } from './forms.ts';
import { addGate } from './gate.ts';
import { addLeadEdit, addLeadScreen, addLeads } from './leads.ts';
import { addLogIn } from './log-in.ts';
import { addPipeline } from './pipeline.ts';
import { addProfiles } from './profiles.ts';
import { addAssets, createScreens, type Show } from './screens.ts';
import { addReplyTemplate, addSignals } from './signals.ts';
import { addSlack } from './slack.ts';
import { addSources } from './sources.ts';
import { addStart } from './start.ts';
import { addTeam } from './team.ts';
import { addToday } from './today.ts';
import { addWebhookLogs } from './webhook-logs.ts';
import { addWebhookActs, addWebhooks } from './webhooks.ts';

/** Everything that an account can do, in a browser; registered under `/dashboard`. */
export async function dashboard(app: FastifyInstance, deps: DashboardDeps): Promise<void> {
  let show: Show | null = null;
  const shown = (): Show => {
    if (show === null) throw new Error('no screen is shown before all are there');
    return show;
  };
  app.decorateRequest('signedIn', null);
  await app.register(cookie, { parseOptions: COOKIE_CODING });
  // JSON is for `/v1`: any other content type than a form gets 415 before its body is read.
  app.removeAllContentTypeParsers();
  const inTurn = createBodyTurns();
  app.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: FORM_BYTES },
    (request, body, done) => inTurn(request.owner, body.length, () => done(null, parseForm(body))),
  );
  app.addHook('onRoute', (route) => {
    route.bodyLimit ??= FORM_BYTES;
  });
  addFaultPages(app, deps.logger, shown);
  addGate(app, deps, shown);
  addCompression(app);
  addShedding(app, { load: deps.load, ownerOf: ({ signedIn }) => signedIn?.tenant.id ?? '' });
  deps.handleInTurns(app);
  await addCsrf(app, deps);
  recordActors(app, deps.store, (request) =>
    request.signedIn === null ? null : selfOf(request.signedIn.user, { client: clientOf(request) }),
  );
  show = createScreens({ clock: deps.clock, assets: await addAssets(app) });

  // The only dependencies of the screens: a handler has no others, so every change it makes is part of its request's
  // trace.
  const { shareCounts } = deps.store;
  const own = followTrace(app, {
    ...deps,
    passwords: createPasswords(deps.random),
    wrongPasswords: createWrongPasswords(deps.clock, PASSWORD_TRIES, {
      name: 'wrong passwords',
      shareCounts,
    }),
    wrongCodes: createWrongPasswords(deps.clock, CODE_TRIES, { name: 'wrong codes', shareCounts }),
    mailLimits: createMailLimits(deps.store, deps.clock),
  });
  addLogIn(app, own, show);
  addAccount(app, own, show);
  addSecondFactor(app, own, show);
  addTeam(app, own, show);
  addAudit(app, own, show);
  addDigestSettings(app, own, show);
  addToday(app, own, show);
  addStart(app, own, show);
  addFind(app, own, show);
  addSignals(app, own, show);
  addReplyTemplate(app, own, show);
  addExports(app, own);
  addSources(app, own, show);
  addApiKeys(app, own, show);
  addAccountScreens(app, own, show);
  addLeads(app, own, show);
  addLeadScreen(app, own, show);
  addLeadEdit(app, own, show);
  addPipeline(app, own, show);
  addCompanies(app, own, show);
  addCompanyEdit(app, own, show);
  addCampaigns(app, own, show);
  addProfiles(app, own, show);
  addSlack(app, own, show);
  addWebhooks(app, own, show);
  addWebhookActs(app, own, show);
  addWebhookLogs(app, own, show);
}

/** Shows refused and failed requests as pages. */
function addFaultPages(app: FastifyInstance, logger: Logger, show: () => Show): void {
  app.setErrorHandler((error, request, reply) => {
    const { status, title, detail } = describe(error, request.routeOptions.bodyLimit);
    if (status === 500) {
      logger.error({ err: error, request_id: request.id, route: routeOf(request) }, 'request failed');
    }
    if (error instanceof DomainError && error.extra.retryAfterSeconds !== undefined) {
      reply.header('retry-after', String(error.extra.retryAfterSeconds));
    }
    return show()(request, reply, { template: 'error', title, status, detail });
  });
}

function describe(error: unknown, bodyLimit: number): { status: number; title: string; detail: string } {
  if (error instanceof DomainError) {
    const hint = error.extra.hint === undefined ? '' : ` ${error.extra.hint}`;
    return {
      status: problemStatus(error.code),
      title: TITLES[error.code] ?? 'That didn’t work',
      detail: error.message + hint,
    };
  }
  const { code, statusCode } = frameworkFault(error);
  if (code.startsWith('FST_CSRF_')) {
    return {
      status: 403,
      title: 'This form has expired',
      detail:
        'You logged in or out after opening it, or cookies are blocked. Go back, reload the page and submit it again.',
    };
  }
  if (statusCode < 500) {
    const detail = UNREAD[code]?.(bodyLimit) ?? 'The form could not be read.';
    return { status: statusCode, title: 'That didn’t work', detail };
  }
  return {
    status: 500,
    title: 'Something went wrong',
    detail: 'The error has been logged. Try again in a moment.',
  };
}

/** Why a form could not be read, by Fastify's error code. */
const UNREAD: Readonly<Record<string, (bodyLimit: number) => string>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: (bodyLimit) =>
    `The form is larger than ${bodyLimit / 1024} KiB; nothing was changed. Go back and shorten it.`,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    'The dashboard accepts forms as browsers send them (application/x-www-form-urlencoded). Programs should use the API under /v1.',
};

const TITLES: Readonly<Record<string, string>> = {
  NOT_FOUND: 'Not found',
  INSUFFICIENT_SCOPE: 'Not allowed',
  PLAN_REQUIRED: 'Not included in your plan',
  RATE_LIMITED: 'Too many requests',
  UNAVAILABLE: 'Temporarily unavailable',
};
