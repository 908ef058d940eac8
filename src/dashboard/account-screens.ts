import type { FastifyInstance } from 'fastify';
import { STALE_MS } from '../accounts/mail.ts';
import { mailText } from '../accounts/mail-text.ts';
import { effectivePlan, planLimits } from '../accounts/plans.ts';
import { DomainError } from '../model/errors.ts';
import { memberOf } from './gate.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';

const SHOWN_MAIL = 50;
const MOST_SOURCES = 1_000;

/** Settings → Plan, and the outbox of account mail. */
export function addAccountScreens(app: FastifyInstance, parts: DashboardParts, show: Show): void {
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
      title: 'Account mail',
      mail: mail.map((one) => ({
        ...one,
        ...mailText(one.facts, baseUrl),
        // A link is sent anew where it is made anew.
        canBeSent: parts.sendsMail && !('userId' in one.facts) && clock.now() - one.createdAt <= STALE_MS,
      })),
    });
  });
  app.post<{ Params: { id: string } }>('/settings/outbox/:id/resend', async (request, reply) => {
    const { tenant } = memberOf(request);
    if (!(await store.resendMail(tenant.id, request.params.id, clock.now()))) {
      throw new DomainError('NOT_FOUND', 'There is no such mail any more.');
    }
    return reply.redirect('/dashboard/settings/outbox?done=resent', 303);
  });
}
