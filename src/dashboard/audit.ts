import type { FastifyInstance } from 'fastify';
import { AUDIT_ACTIONS, type AuditAction, auditFilters, OTHER_ACTORS } from '../model/audit.ts';
import type { DashboardDeps } from './deps.ts';
import { filtersOf, isFiltered, queryOf } from './forms.ts';
import { memberOf } from './gate.ts';
import { readScreenPage } from './paging.ts';
import type { Show } from './screens.ts';

const PATH = '/settings/audit';

/** Where a subject is looked at, by the prefix of its id. */
const SCREENS: Readonly<Record<string, string>> = {
  sig: '/dashboard/signals/',
  led: '/dashboard/leads/',
  cmp: '/dashboard/companies/',
  cam: '/dashboard/campaigns/',
  icp: '/dashboard/profiles/',
  src: '/dashboard/sources/',
  whk: '/dashboard/settings/integrations/webhooks/',
  dlv: '/dashboard/webhook-logs/',
};

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

/** Settings → Audit log: who changed what, for a year. */
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
    const names = await namesOf(deps, tenant.id);
    return show(request, reply, {
      template: 'audit',
      title: 'Audit log',
      entries: page.rows.map((entry) => ({
        ...entry,
        who: names.get(entry.actor) ?? entry.actor,
        about: names.get(entry.subject) ?? entry.subject,
        link: linkOf(entry.subject),
      })),
      actors: [...names].map(([id, name]) => ({ id, name })),
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

/** What actors are called, by their ids: the list itself holds ids alone. */
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

function linkOf(subject: string): string | null {
  const screen = SCREENS[subject.slice(0, subject.indexOf('_'))];
  return screen === undefined ? null : screen + subject;
}
