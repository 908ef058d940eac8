import type { FastifyInstance } from 'fastify';
import { CLASSIFICATIONS } from '../model/constants.ts';
import type { Lead } from '../model/lead.ts';
import { normaliseEmail } from '../model/person-keys.ts';
import { STAGES } from '../model/pipeline.ts';
import { isFiltered, manyOf, oneOf, scoreOf, someOf } from './filters.ts';
import { type Form, queryOf, text } from './forms.ts';
import { memberOf } from './gate.ts';
import { nameOf } from './lead-screen.ts';
import { money } from './money.ts';
import { readScreenPage } from './paging.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';

const SORTS = ['-created_at', 'created_at', '-icp_score'] as const;

/** `/dashboard/leads`: everybody in the pipeline, with filters and search. */
export function addLeads(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  app.get('/leads', async (request, reply) => {
    const { tenant } = memberOf(request);
    const query = queryOf(request);
    const filters = filtersOf(query);
    const { page, ...pages } = await readScreenPage(parts, request, {
      name: 'leads',
      filters,
      read: (place) => parts.store.listLeads(tenant.id, { ...filters, ...place }),
    });
    return show(request, reply, {
      template: 'leads',
      title: 'Leads',
      ...pages,
      leads: page.rows.map((row) => JSON.parse(row) as Lead),
      chosen: filters,
      tag: text(query, 'tag'),
      stages: STAGES,
      classes: CLASSIFICATIONS,
      money,
      nameOf,
      isFiltered: isFiltered(query),
    });
  });
}

/** The filters of a query, by the names that `/v1` gives them. */
export function filtersOf(query: Form) {
  const email = text(query, 'email').trim();
  return {
    stages: someOf(query, 'stage', STAGES),
    classifications: someOf(query, 'classification', CLASSIFICATIONS),
    minScore: scoreOf(query),
    companyDomains: manyOf(query, 'company_domain').map((domain) => domain.toLowerCase()),
    sources: manyOf(query, 'source').map((source) => source.toLowerCase()),
    owners: manyOf(query, 'owner').map((owner) => owner.toLowerCase()),
    tag: text(query, 'tag').trim().toLowerCase().slice(0, 50) || null,
    identity: email === '' ? null : `email:${normaliseEmail(email.slice(0, 254))}`,
    q: text(query, 'q').trim().slice(0, 200) || null,
    sort: oneOf(query, 'sort', SORTS) ?? '-created_at',
  };
}
