import type { FastifyInstance } from 'fastify';
import { namesOf } from '../leads/lead-names.ts';
import { CLASSIFICATIONS, STAGES } from '../model/constants.ts';
import { type Lead, leadFilters } from '../model/lead.ts';
import { filtersOf, isFiltered, kept } from './filters.ts';
import { queryOf, text } from './forms.ts';
import { memberOf } from './gate.ts';
import { money } from './money.ts';
import { readScreenPage } from './paging.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';

/** `/dashboard/leads`: all leads, with filters and search. */
export function addLeads(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  app.get('/leads', async (request, reply) => {
    const { tenant } = memberOf(request);
    const query = queryOf(request);
    const { filters, filterFaults } = filtersOf(leadFilters, query);
    const { page, ...pages } = await readScreenPage(parts, request, {
      name: 'leads',
      filters,
      read: (place) => parts.store.listLeads(tenant.id, { ...filters, ...place }),
    });
    const leads = page.rows.map((row) => JSON.parse(row) as Lead);
    return show(request, reply, {
      template: 'leads',
      title: 'Leads',
      ...pages,
      filterFaults,
      leads,
      chosen: filters,
      tag: text(query, 'tag'),
      stages: STAGES,
      classes: CLASSIFICATIONS,
      money,
      nameOf: await namesOf(parts.store, leads),
      isFiltered: isFiltered(query),
      filters: kept(new URLSearchParams(query as Record<string, string>)),
    });
  });
}
