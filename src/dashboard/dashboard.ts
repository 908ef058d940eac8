import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import type { FastifyInstance } from 'fastify';
import { selfOf } from '../accounts/links.ts';
import { createMailLimits } from '../accounts/mail.ts';
import { CODE_TRIES, createPasswords, createWrongPasswords } from '../accounts/passwords.ts';
import { addCompression } from '../http/compression.ts';
import { clientOf } from '../http/limits.ts';
import { addShedding } from '../http/load.ts';
import { recordActors } from '../http/request-context.ts';
import { followTrace } from '../http/request-log.ts';
import { addAccount } from './account.ts';
import { addAccountScreens } from './account-screens.ts';
import { addApiKeys } from './api-keys.ts';
import { addAssets } from './assets.ts';
import { addAudit } from './audit.ts';
import { addCampaigns } from './campaigns.ts';
import { addCompanies } from './companies.ts';
import { addCompanyEdit } from './company-edit.ts';
import { addCsrf } from './csrf.ts';
import { addDigestSettings } from './digest-settings.ts';
import { addExports } from './exports.ts';
import { addFaultPages } from './faults.ts';
import { addFind } from './find.ts';
import { FORM_BYTES } from './forms.ts';
import { addGate } from './gate.ts';
import { addLeadEdit } from './lead-edit.ts';
import { addLeadScreen } from './lead-screen.ts';
import { addLeads } from './leads.ts';
import { addLogIn } from './log-in.ts';
import type { DashboardParts } from './parts.ts';
import { addPipeline } from './pipeline.ts';
import { addProfiles } from './profiles.ts';
import { createScreens, type Show } from './screens.ts';
import { addSecondFactor } from './second-factor.ts';
import { addReplyTemplate, addSignals } from './signals.ts';
import { addSlack } from './slack.ts';
import { addSources } from './sources.ts';
import { addStart } from './start.ts';
import { addTeam } from './team.ts';
import { addToday } from './today.ts';
import { addWebhookActs } from './webhook-acts.ts';
import { addWebhookLogs } from './webhook-logs.ts';
import { addWebhooks } from './webhooks.ts';

/** Everything an account does, in a browser; registered under `/dashboard`. */
export async function dashboard(app: FastifyInstance, parts: DashboardParts): Promise<void> {
  let show: Show | null = null;
  const shown = (): Show => {
    if (show === null) throw new Error('no screen is shown before all are there');
    return show;
  };
  app.decorateRequest('signedIn', null);
  await app.register(cookie);
  // JSON is for `/v1`: what is no form is 415 before it is read.
  app.removeAllContentTypeParsers();
  await app.register(formbody, { bodyLimit: FORM_BYTES });
  app.addHook('onRoute', (route) => {
    route.bodyLimit ??= FORM_BYTES;
  });
  addFaultPages(app, parts.logger, shown);
  addGate(app, parts, shown);
  addShedding(app, { load: parts.load, ownerOf: (request) => request.signedIn?.tenant.id ?? '' });
  await addCsrf(app, parts);
  recordActors(app, parts.store, (request) =>
    request.signedIn === null ? null : selfOf(request.signedIn.user, { client: clientOf(request) }),
  );
  addCompression(app);
  show = createScreens({ clock: parts.clock, assets: await addAssets(app) });

  // All that the screens are given: a handler has no other parts, and so changes nothing outside its request's trace.
  const own = followTrace(app, {
    ...parts,
    passwords: createPasswords(parts.random),
    wrongPasswords: createWrongPasswords(parts.clock),
    wrongCodes: createWrongPasswords(parts.clock, CODE_TRIES),
    mailLimits: createMailLimits(parts.store, parts.clock),
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
