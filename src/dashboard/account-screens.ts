import type { FastifyInstance } from 'fastify';
import { mailText } from '../accounts/compose-mail.ts';
import { type MailLimits, STALE_MS } from '../accounts/mail.ts';
import { effectivePlan, planLimits } from '../accounts/plans.ts';
import { DomainError } from '../model/errors.ts';
import type { Mail } from '../model/mail.ts';
import { memberOf } from './gate.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';

const SHOWN_MAIL = 50;
const MOST_SOURCES = 1_000;

/** Settings → Plan, and the outbox of account email. */
export function addAccountScreens(
  app: FastifyInstance,
  parts: DashboardParts & { mailLimits: MailLimits },
  show: Show,
): void {
  const { store, clock, baseUrl } = parts;
  app.get('/settings/plan', async (request, reply) => {
    const { tenant } = memberOf(request);
    const plan = effectivePlan(tenant, clock.now());
    const limits = planLimits(plan);
    const [keys, endpoints, profiles, sources] = await Promise.all([
      store.listKeys(tenant.id),
      store.listEndpoints(tenant.id),
      store.listProfiles(tenant.id),
      store.pageSources(tenant.id, { limit: MOST_SOURCES, after: null }),
    ]);
    return show(request, reply, {
      template: 'plan',
      title: 'Plan and usage',
      plan,
      isTrial: plan === 'trial',
      trialEndsAt: tenant.trialEndsAt,
      requestsPerMinute: limits.requestsPerMinute,
      usage: [
        { name: 'Webhooks', used: endpoints.length, limit: limits.endpoints },
        { name: 'API keys', used: keys.filter((key) => key.revokedAt === null).length, limit: limits.keys },
        { name: 'Profiles', used: profiles.length, limit: limits.profiles },
        { name: 'Sources', used: sources.rows.length, limit: limits.sources },
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
        canBeSent: parts.sendsMail && canBeSent(one, clock.now()),
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
    await parts.mailLimits.resend(tenant.id);
    if (!(await store.resendMail(tenant.id, shown.id, clock.now()))) {
      throw new DomainError('NOT_FOUND', 'This email no longer exists.');
    }
    return reply.redirect('/dashboard/settings/outbox?done=resent', 303);
  });
}

/** Mail to one person is theirs, and a link is sent anew where it is made anew. */
function canBeSent({ facts, createdAt }: Mail, now: number): boolean {
  return !('userId' in facts) && now - createdAt <= STALE_MS;
}
