import type { FastifyInstance } from 'fastify';
import { eachInTurns } from '../lib/yielding.ts';
import { AUDIT_ACTIONS, type AuditAction, auditFilters, OTHER_ACTORS } from '../model/audit.ts';
import { endpointName, eventLabel, shownEndpoint } from './delivery-words.ts';
import type { DashboardDeps } from './deps.ts';
import { filtersOf, isFiltered, queryOf } from './forms.ts';
import { memberOf } from './gate.ts';
import { readScreenPage } from './paging.ts';
import type { Show } from './screens.ts';
import { type EventSubject, subjectsOf } from './webhook-logs.ts';

const PATH = '/settings/audit';

const ACTION_WORDS: Record<AuditAction, string> = {
  'campaign.create': 'Campaign created',
  'campaign.events': 'Campaign events added',
  'campaign.update': 'Campaign changed',
  'company.update': 'Company changed',
  'deal.update': 'Deal changed',
  'delivery.replay': 'Delivery replayed',
  'key.create': 'API key created',
  'key.revoke': 'API key revoked',
  'key.update': 'API key changed',
  'lead.create': 'Lead added',
  'lead.erase': 'Lead erased',
  'lead.move': 'Lead moved',
  'lead.update': 'Lead changed',
  'mail.resend': 'Email resent',
  'member.invite': 'Member invited',
  'member.link': 'Invitation renewed',
  'member.remove': 'Member removed',
  'member.role': 'Role changed',
  'password.change': 'Password changed',
  'plan.change': 'Plan changed',
  'profile.create': 'Profile created',
  'profile.delete': 'Profile deleted',
  'profile.update': 'Profile changed',
  'recovery_codes.create': 'Recovery codes generated',
  'recovery_codes.use': 'Recovery code used',
  'second_factor.off': 'Two-factor authentication turned off',
  'second_factor.on': 'Two-factor authentication turned on',
  'session.begin': 'Logged in',
  'session.end': 'Logged out',
  'session.locked': 'Login locked',
  'session.refused': 'Login refused',
  'settings.update': 'Settings changed',
  'signal.create': 'Signal added',
  'signal.delete': 'Signal deleted',
  'signal.feedback': 'Signal rated',
  'signal.triage': 'Signal snoozed or assigned',
  'signal.update': 'Signal changed',
  'source.create': 'Source added',
  'source.delete': 'Source deleted',
  'source.run': 'Source run started',
  'source.update': 'Source changed',
  'suggestion.decide': 'Suggestion accepted or dismissed',
  'suggestion.undo': 'Suggestion undone',
  'view.delete': 'View deleted',
  'view.save': 'View saved',
  'webhook.create': 'Webhook created',
  'webhook.delete': 'Webhook deleted',
  'webhook.pause': 'Webhook paused',
  'webhook.replay': 'Webhook deliveries replayed',
  'webhook.resume': 'Webhook resumed',
  'webhook.secret': 'Webhook secret regenerated',
  'webhook.test': 'Test delivery sent',
  'webhook.update': 'Webhook changed',
};

/** Settings → Audit log: who changed what, over the last year. */
export function addAudit(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  const { store } = deps;
  app.get(PATH, async (request, reply) => {
    const { tenant } = memberOf(request);
    const query = queryOf(request);
    const { filters, filterFaults } = filtersOf(auditFilters, query);
    const { page, next, first } = await readScreenPage(deps, request, {
      name: 'audit',
      filters,
      read: (place) => store.pageAudit(tenant.id, { ...filters, ...place }),
    });
    const [names, subjects] = await Promise.all([
      namesOf(deps, tenant.id),
      auditedSubjects(
        deps,
        tenant.id,
        page.rows.map(({ subject }) => subject),
      ),
    ]);
    names.set(tenant.id, tenant.name);
    return show(request, reply, {
      template: 'audit',
      title: 'Audit log',
      entries: page.rows.map((entry) => ({
        ...entry,
        who: names.get(entry.actor) ?? entry.actor,
        about: subjects.get(entry.subject)?.label ?? names.get(entry.subject) ?? null,
        link: subjects.get(entry.subject)?.path ?? null,
      })),
      actors: [...names].filter(([id]) => id !== tenant.id).map(([id, name]) => ({ id, name })),
      actions: AUDIT_ACTIONS,
      actionWords: (action: AuditAction) => ACTION_WORDS[action],
      query,
      filterFaults,
      isFiltered: isFiltered(query),
      next,
      first,
    });
  });
}

/** Display names of actors by ID: the log itself stores only IDs. */
async function namesOf({ store }: DashboardDeps, tenantId: string): Promise<Map<string, string>> {
  const [members, keys] = await Promise.all([store.listMembers(tenantId), store.listKeys(tenantId)]);
  return new Map([
    ...members.map(({ id, email }) => [id, email] as const),
    ...keys.map(({ id, name }) => [id, `API key ${name}`] as const),
    [OTHER_ACTORS.command, 'Command line'],
    [OTHER_ACTORS.mail, 'Link in an email'],
    [OTHER_ACTORS.stranger, 'Not logged in'],
  ]);
}

/** The subjects of a page of entries, by ID: those that still exist, with name and screen. */
async function auditedSubjects(
  { store }: DashboardDeps,
  tenantId: string,
  ids: readonly string[],
): Promise<Map<string, EventSubject>> {
  const subjects = await subjectsOf(store, tenantId, ids);
  const add = async (prefix: string, find: (id: string) => Promise<EventSubject | null>) => {
    await eachInTurns(new Set(ids.filter((each) => each.startsWith(prefix))), async (id) => {
      const subject = await find(id);
      if (subject !== null) subjects.set(id, subject);
    });
  };
  await Promise.all([
    add('icp_', async (id) => {
      const profile = await store.getProfile(tenantId, id);
      return profile && { label: profile.name, path: `/dashboard/profiles/${id}` };
    }),
    add('src_', async (id) => {
      const source = await store.getSource(tenantId, id);
      return source && { label: source.name, path: `/dashboard/sources/${id}` };
    }),
    add('cmp_', async (id) => {
      const company = await store.findCompany(tenantId, { id });
      return company && { label: company.domain, path: `/dashboard/companies/${id}` };
    }),
    add('whk_', async (id) => {
      const endpoint = await store.getEndpoint(tenantId, id);
      return (
        endpoint && {
          label: endpointName(shownEndpoint(endpoint)),
          path: `/dashboard/settings/integrations/webhooks/${id}`,
        }
      );
    }),
    add('dlv_', async (id) => {
      const delivery = await store.findDelivery(tenantId, id);
      return (
        delivery && {
          label: `${eventLabel(delivery.eventType)} delivery`,
          path: `/dashboard/webhook-logs/${id}`,
        }
      );
    }),
  ]);
  return subjects;
}
