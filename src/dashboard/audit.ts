import type { FastifyInstance } from 'fastify';
import { AUDIT_ACTIONS, auditFilters, OTHER_ACTORS } from '../model/audit.ts';
import { filtersOf, isFiltered } from './filters.ts';
import { queryOf } from './forms.ts';
import { memberOf } from './gate.ts';
import { readScreenPage } from './paging.ts';
import type { DashboardParts } from './parts.ts';
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

/** Settings → Audit: who changed what, for a year. */
export function addAudit(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  const { store } = parts;
  app.get(PATH, async (request, reply) => {
    const { tenant } = memberOf(request);
    const query = queryOf(request);
    const { filters, filterFaults } = filtersOf(auditFilters, query);
    const { page, next, first } = await readScreenPage(parts, request, {
      name: 'audit',
      filters,
      read: (place) => store.pageAudit(tenant.id, { ...filters, ...place }),
    });
    const names = await namesOf(parts, tenant.id);
    return show(request, reply, {
      template: 'audit',
      title: 'Audit',
      entries: page.rows.map((entry) => ({
        ...entry,
        who: names.get(entry.actor) ?? entry.actor,
        about: names.get(entry.subject) ?? entry.subject,
        link: linkOf(entry.subject),
      })),
      actors: [...names].map(([id, name]) => ({ id, name })),
      actions: AUDIT_ACTIONS,
      query,
      filterFaults,
      isFiltered: isFiltered(query),
      next,
      first,
    });
  });
}

/** What actors are called, by their ids: the list itself holds ids alone. */
async function namesOf({ store }: DashboardParts, tenantId: string): Promise<Map<string, string>> {
  const [members, keys] = await Promise.all([store.listMembers(tenantId), store.listKeys(tenantId)]);
  return new Map([
    ...members.map(({ id, email }) => [id, email] as const),
    ...keys.map(({ id, name }) => [id, `key ${name}`] as const),
    [OTHER_ACTORS.command, 'command line'],
    [OTHER_ACTORS.mail, 'link in a mail'],
    [OTHER_ACTORS.stranger, 'not logged in'],
  ]);
}

function linkOf(subject: string): string | null {
  const screen = SCREENS[subject.slice(0, subject.indexOf('_'))];
  return screen === undefined ? null : screen + subject;
}
