import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { renderSVG } from 'uqr';
import { mailText } from '../accounts/compose-mail.ts';
import { createKey, revokeKey } from '../accounts/keys.ts';
import { type MailLimits, STALE_MS } from '../accounts/mail.ts';
import {
  askPassword,
  changeOwnPassword,
  endOtherSessions,
  endOwnSession,
  isProven,
  listOwnSessions,
  mailOf,
  proofOf,
  type Self,
} from '../accounts/own-account.ts';
import { MIN_PASSWORD_CHARACTERS } from '../accounts/passwords.ts';
import { effectivePlan, planLimits } from '../accounts/plans.ts';
import { confirmFactor, offerFactor, renewRecoveryCodes } from '../accounts/second-factor.ts';
import { changeSettings, readSettings } from '../accounts/settings.ts';
import type { SignInDeps } from '../accounts/sign-in.ts';
import { check } from '../http/faults.ts';
import { refusal } from '../http/json-body.ts';
import { clientOf } from '../http/limits.ts';
import { toIso } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { Page, PageRequest } from '../model/filters.ts';
import {
  type ApiKey,
  keyInputSchema,
  keyResource,
  presetScopes,
  SCOPE_PRESETS,
  SCOPES,
} from '../model/key.ts';
import type { Mail } from '../model/mail.ts';
import { settingsPatchSchema } from '../model/tenant.ts';
import type { DashboardDeps } from './deps.ts';
import { type Form, type FormFaults, faultsOf, formOf, number, text, texts, ticked } from './forms.ts';
import { checked, memberOf } from './gate.ts';
import { readScreenPage } from './paging.ts';
import type { Show } from './screens.ts';

/** The path of the screen for the user's own account. */
const ACCOUNT = '/settings/account';

/** Users with read-only access may change their own settings, too. */
const OWN = { forReaders: true } as const;

/** Settings → Account: the user's password and sessions. */
export function addAccount(app: FastifyInstance, deps: DashboardDeps & SignInDeps, show: Show): void {
  async function showAccount(
    request: FastifyRequest,
    reply: FastifyReply,
    shown: Record<string, unknown> = {},
  ) {
    const self = selfOf(request);
    const [sessions, factor] = await Promise.all([
      listOwnSessions(deps, self),
      deps.store.getFactor(self.user.id),
    ]);
    return show(request, reply, {
      template: 'account',
      title: 'Your account',
      sessions: sessions.map(({ tokenHash, ...session }) => ({
        ...session,
        isThis: tokenHash === self.session.tokenHash,
      })),
      factor: factor === null || factor.since === null ? null : factor,
      least: MIN_PASSWORD_CHARACTERS,
      faults: {},
      ...shown,
    });
  }

  app.get(ACCOUNT, (request, reply) => showAccount(request, reply));
  app.post(`${ACCOUNT}/password`, { config: OWN }, async (request, reply) => {
    const form = formOf(request);
    const wish = { oldPassword: text(form, 'old_password'), password: text(form, 'password') };
    try {
      await changeOwnPassword(deps, selfOf(request), wish);
      return reply.redirect(`/dashboard${ACCOUNT}?done=password`, 303);
    } catch (error) {
      return showAccount(request, reply, { faults: faultsOf(error), status: 400 });
    }
  });
  app.post<{ Params: { id: string } }>(
    `${ACCOUNT}/sessions/:id/end`,
    { config: OWN },
    async (request, reply) => {
      await endOwnSession(deps, selfOf(request), request.params.id);
      return reply.redirect(`/dashboard${ACCOUNT}?done=session`, 303);
    },
  );
  app.post(`${ACCOUNT}/sessions/end`, { config: OWN }, async (request, reply) => {
    await endOtherSessions(deps, selfOf(request));
    return reply.redirect(`/dashboard${ACCOUNT}?done=session`, 303);
  });
}

/** The signed-in user, for changes to their own account. */
function selfOf(request: FastifyRequest): Self {
  return { ...memberOf(request), client: clientOf(request) };
}

const SHOWN_MAIL = 50;

/** Settings → Plan, and the outbox of account email. */
export function addAccountScreens(
  app: FastifyInstance,
  deps: DashboardDeps & { mailLimits: MailLimits },
  show: Show,
): void {
  const { store, clock, baseUrl } = deps;
  app.get('/settings/plan', async (request, reply) => {
    const { tenant } = memberOf(request);
    const plan = effectivePlan(tenant, clock.now());
    const limits = planLimits(plan);
    const [keys, endpoints, profiles, sources, stored] = await Promise.all([
      store.listKeys(tenant.id),
      store.countEndpoints(tenant.id),
      store.countProfiles(tenant.id),
      store.countSources(tenant.id),
      store.countStored(tenant.id),
    ]);
    return show(request, reply, {
      template: 'plan',
      title: 'Plan and usage',
      plan,
      isTrial: plan === 'trial',
      trialEndsAt: tenant.trialEndsAt,
      requestsPerMinute: limits.requestsPerMinute,
      usage: [
        { name: 'Webhooks', used: endpoints, limit: limits.endpoints },
        { name: 'API keys', used: keys.filter((key) => key.revokedAt === null).length, limit: limits.keys },
        { name: 'Profiles', used: profiles, limit: limits.profiles },
        { name: 'Sources', used: sources, limit: limits.sources },
        { name: 'Signals', used: stored.signals, limit: limits.signals },
        { name: 'Leads', used: stored.leads, limit: limits.leads },
        { name: 'Campaign events', used: stored.campaignEvents, limit: limits.campaignEvents },
      ],
    });
  });
  app.get('/settings/outbox', async (request, reply) => {
    const { tenant } = memberOf(request);
    const mail = await store.listMail(tenant.id, SHOWN_MAIL);
    return show(request, reply, {
      template: 'outbox',
      title: 'Account email',
      mail: mail.map((one) => ({
        ...one,
        ...mailText(one.facts, baseUrl),
        canBeSent: deps.sendsMail && canBeSent(one, clock.now()),
      })),
    });
  });
  app.post<{ Params: { id: string } }>('/settings/outbox/:id/resend', async (request, reply) => {
    const { tenant } = memberOf(request);
    const mail = await store.listMail(tenant.id, SHOWN_MAIL);
    const shown = mail.find(({ id }) => id === request.params.id);
    if (shown === undefined || !canBeSent(shown, clock.now())) {
      throw new DomainError('NOT_FOUND', 'This email does not exist or can no longer be resent.');
    }
    await deps.mailLimits.resend(tenant.id);
    if (!(await store.resendMail(tenant.id, shown.id, clock.now()))) {
      throw new DomainError('NOT_FOUND', 'This email no longer exists.');
    }
    return reply.redirect('/dashboard/settings/outbox?done=resent', 303);
  });
}

/** Mail to one person is private to them, and a mail with a link is sent again only by creating a new link. */
function canBeSent({ facts, createdAt }: Mail, now: number): boolean {
  return !('userId' in facts) && now - createdAt <= STALE_MS;
}

const SECOND_FACTOR = `${ACCOUNT}/second-factor`;
const PROOF_IS_OLD = { '': 'That took too long. Enter your password again.' };
/** The width of the white margin that scanners require, in modules (ISO/IEC 18004, 5.3.8). */
const QUIET_MODULES = 4;

/** Settings → Account → Two-factor authentication: a code from an authenticator app in addition to the password. */
export function addSecondFactor(app: FastifyInstance, deps: DashboardDeps & SignInDeps, show: Show): void {
  const config = { ...OWN, showsSecret: true } as const;

  async function showOffer(
    request: FastifyRequest,
    reply: FastifyReply,
    shown: Record<string, unknown> = {},
  ) {
    const self = selfOf(request);
    const { key, uri } = await offerFactor(deps, self.user);
    return show(request, reply, {
      template: 'second-factor',
      title: 'Two-factor authentication',
      proof: proofOf(deps, self),
      ...{ key, uri, picture: renderSVG(uri, { border: QUIET_MODULES }), faults: {} },
      ...shown,
    });
  }

  const renewCodes = (self: Self) =>
    renewRecoveryCodes(deps, self.user, mailOf(deps, self, 'recovery_codes'));

  function showCodes(request: FastifyRequest, reply: FastifyReply, codes: string[]) {
    return show(request, reply, { template: 'recovery-codes', title: 'Recovery codes', codes });
  }

  function askForPassword(
    request: FastifyRequest,
    reply: FastifyReply,
    asked: { action: string; faults: FormFaults },
  ) {
    const screen = { template: 'second-factor-password', title: 'Two-factor authentication', status: 400 };
    return show(request, reply, { ...screen, ...asked });
  }

  /**
   * Changes to the login method require the password again: an unattended browser does not prove the user's identity.
   */
  async function withPassword(
    request: FastifyRequest,
    reply: FastifyReply,
    work: () => Promise<FastifyReply>,
  ): Promise<FastifyReply> {
    const password = text(formOf(request), 'password');
    try {
      await askPassword(deps, selfOf(request), { password, pointer: '/password' });
    } catch (error) {
      return askForPassword(request, reply, { action: request.originalUrl, faults: faultsOf(error) });
    }
    return await work();
  }

  app.post(SECOND_FACTOR, { config }, (request, reply) =>
    withPassword(request, reply, () => showOffer(request, reply)),
  );
  app.post(`${SECOND_FACTOR}/confirm`, { config }, async (request, reply) => {
    const self = selfOf(request);
    const form = formOf(request);
    // Do not show the offered secret again without the password.
    if (!isProven(deps, self, text(form, 'proof'))) {
      return askForPassword(request, reply, { action: `/dashboard${SECOND_FACTOR}`, faults: PROOF_IS_OLD });
    }
    try {
      const mail = mailOf(deps, self, 'second_factor_on');
      const change = { code: text(form, 'code'), keep: self.session.tokenHash, mail };
      return showCodes(request, reply, await confirmFactor(deps, self.user, change));
    } catch (error) {
      return showOffer(request, reply, { faults: faultsOf(error), status: 400 });
    }
  });
  app.post(`${SECOND_FACTOR}/codes`, { config }, (request, reply) =>
    withPassword(request, reply, async () => showCodes(request, reply, await renewCodes(selfOf(request)))),
  );
  app.post(`${SECOND_FACTOR}/off`, { config }, (request, reply) =>
    withPassword(request, reply, async () => {
      const self = selfOf(request);
      await deps.store.dropFactor(self.user.id, mailOf(deps, self, 'second_factor_off'));
      return reply.redirect(`/dashboard${ACCOUNT}?done=factor-off`, 303);
    }),
  );
}

const API_KEYS = '/settings/api-keys';

/** Settings → API keys: each key is shown in full once, at creation. Only owners create and revoke keys. */
export function addApiKeys(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  async function showKeys(request: FastifyRequest, reply: FastifyReply, shown: Record<string, unknown> = {}) {
    const { tenant } = memberOf(request);
    const { page, ...pages } = await readScreenPage(deps, request, {
      name: 'api-keys',
      filters: null,
      read: async (place) => newestKeys(await deps.store.listKeys(tenant.id), place),
    });
    return show(request, reply, {
      template: 'api-keys',
      title: 'API keys',
      ...pages,
      keys: page.rows.map(keyResource),
      may,
      baseUrl: deps.baseUrl,
      form: { name: '', preset: 'read', rate_limit: '600' },
      faults: {},
      made: null,
      ...shown,
    });
  }

  app.get(API_KEYS, (request, reply) => showKeys(request, reply));
  app.post(API_KEYS, { config: { showsSecret: true, forOwners: true } }, async (request, reply) => {
    const { tenant } = memberOf(request);
    const form = formOf(request);
    try {
      // Owners have every permission, so they may grant every scope.
      const caller = { key: { tenantId: tenant.id, scopes: [...SCOPES] }, tenant };
      const { key, apiKey } = await createKey(deps, caller, inputOf(form));
      return await showKeys(request, reply, { made: { name: key.name, apiKey } });
    } catch (error) {
      return showKeys(request, reply, { form, faults: faultsOf(error), status: 400 });
    }
  });
  app.post<{ Params: { id: string } }>(
    `${API_KEYS}/:id/revoke`,
    { config: { forOwners: true } },
    async (request, reply) => {
      const { tenant } = memberOf(request);
      await revokeKey(deps, { tenantId: tenant.id, scopes: [...SCOPES] }, request.params.id);
      return reply.redirect(`/dashboard${API_KEYS}?done=revoked`, 303);
    },
  );
}

/** A page of keys that are given oldest first: rendering two thousand at once took 0.16 s. */
function newestKeys(keys: readonly ApiKey[], { limit, after }: PageRequest): Page<ApiKey> {
  const all = keys.toReversed();
  const from = after === null ? 0 : 1 + all.findIndex(({ id }) => id === after[0]);
  const rows = all.slice(from, from + limit);
  const lastId = rows.at(-1)?.id;
  return { rows, last: lastId === undefined || from + limit >= all.length ? null : [lastId] };
}

const PRESET_WORDS = {
  read: 'Read everything',
  write: 'Read and write everything except keys',
  admin: 'Full access',
} as const satisfies Record<(typeof SCOPE_PRESETS)[number], string>;

/** What a key may do, in a few words if its scopes match a preset. */
function may(scopes: readonly string[]): string {
  const preset = SCOPE_PRESETS.find((name) => presetScopes(name)?.join() === scopes.join());
  return preset === undefined ? scopes.join(', ') : PRESET_WORDS[preset];
}

function inputOf(form: Form) {
  const expires = text(form, 'expires_at');
  const wish = {
    name: text(form, 'name'),
    preset: text(form, 'preset'),
    rate_limit: number(form, 'rate_limit') ?? undefined,
    ...(expires === '' ? {} : { expires_at: `${expires}T23:59:59Z` }),
  };
  const checked = check(keyInputSchema, wish, 'body');
  if (!checked.ok) throw refusal(checked, 'body');
  return checked.value;
}

const DIGEST = '/settings/digest';
const ZONES = Intl.supportedValuesOf('timeZone');

/** Time, profiles and recipients of the digest, and each user's own subscription to it. */
export function addDigestSettings(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  const { store } = deps;
  async function screen(
    request: FastifyRequest,
    reply: FastifyReply,
    shown: { form?: Form; faults?: FormFaults; status?: number } = {},
  ) {
    const { tenant, user } = memberOf(request);
    const [{ timezone, digest }, stored, members, profiles] = await Promise.all([
      readSettings(deps, tenant.id),
      store.getSettings(tenant.id),
      store.listMembers(tenant.id),
      store.listProfiles(tenant.id),
    ]);
    const dueAt = stored?.digestDueAt ?? 0;
    return show(request, reply, {
      template: 'digest-settings',
      title: 'Digest',
      form: {
        enabled: digest.enabled ? 'on' : '',
        hour: String(digest.hour),
        timezone,
        frequency: digest.frequency,
        icp_profile_ids: digest.icp_profile_ids,
        recipients: digest.recipients,
      },
      faults: {},
      zones: ZONES,
      members,
      profiles,
      getsIt: digest.recipients.includes(user.email),
      sendsMail: deps.sendsMail,
      nextAt: digest.enabled && dueAt > 0 ? toIso(dueAt) : null,
      ...shown,
    });
  }

  app.get(DIGEST, (request, reply) => screen(request, reply));
  app.post(DIGEST, { config: { forOwners: true } }, async (request, reply) => {
    const form = formOf(request);
    try {
      await changeSettings(deps, memberOf(request).tenant.id, checked(settingsPatchSchema, wishOf(form)));
    } catch (error) {
      return screen(request, reply, { form, faults: faultsOf(error), status: 400 });
    }
    return reply.redirect(`/dashboard${DIGEST}?done=saved`, 303);
  });
  app.post(`${DIGEST}/mine`, { config: { forReaders: true } }, async (request, reply) => {
    const { tenant, user } = memberOf(request);
    await store.setDigestReader(tenant.id, user.id, ticked(formOf(request), 'wanted'));
    return reply.redirect(`/dashboard${DIGEST}?done=saved`, 303);
  });
}

function wishOf(form: Form): unknown {
  return {
    timezone: text(form, 'timezone'),
    digest: {
      enabled: ticked(form, 'enabled'),
      hour: number(form, 'hour') ?? undefined,
      frequency: text(form, 'frequency') || undefined,
      icp_profile_ids: texts(form, 'icp_profile_ids'),
      recipients: texts(form, 'recipients'),
    },
  };
}
