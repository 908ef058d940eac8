import type { FastifyInstance } from 'fastify';
import { nameOf } from '../leads/lead-names.ts';
import { parseBytes, parseRows } from '../lib/json.ts';
import { fold } from '../lib/text.ts';
import { createYielder } from '../lib/yielding.ts';
import { type Lead, leadFilters } from '../model/lead.ts';
import { type Signal, signalFilters } from '../model/signal.ts';
import { headlineOf, whereOf } from '../signals/why.ts';
import { shownEndpoint } from './delivery-words.ts';
import type { DashboardDeps } from './deps.ts';
import { clean, queryOf, text } from './forms.ts';
import { memberOf } from './gate.ts';
import { NAVIGATION, type Show } from './screens.ts';
import { kindWords } from './source-form.ts';
import { WEBHOOKS } from './webhooks.ts';

/** Results per kind. */
const MOST = 5;
/** A tenant may have any number of campaigns; only this many of the newest are searched. */
const CAMPAIGNS_READ = 300;
const MAX_CHARS = 200;

/** A search result that links to a screen. */
interface SearchResult {
  kind: string;
  path: string;
  label: string;
  detail: string;
}

/** The screen of each kind of resource, by ID prefix. */
const PLACES: Readonly<Record<string, { kind: string; path: string }>> = {
  sig: { kind: 'Signal', path: '/dashboard/signals/' },
  led: { kind: 'Lead', path: '/dashboard/leads/' },
  cmp: { kind: 'Company', path: '/dashboard/companies/' },
  cam: { kind: 'Campaign', path: '/dashboard/campaigns/' },
  icp: { kind: 'Profile', path: '/dashboard/profiles/' },
  src: { kind: 'Source', path: '/dashboard/sources/' },
  whk: { kind: 'Webhook', path: `/dashboard${WEBHOOKS}/` },
  dlv: { kind: 'Delivery', path: '/dashboard/webhook-logs/' },
};

const MORE_PAGES = [
  { path: `/dashboard${WEBHOOKS}/new`, label: 'Create webhook' },
  { path: '/dashboard/sources/new', label: 'Add source' },
  { path: '/dashboard/profiles/new', label: 'New profile' },
  { path: '/dashboard/webhook-logs/events', label: 'Events and recipients' },
  { path: '/dashboard/start', label: 'Getting started' },
  { path: '/product', label: 'About Signalpost' },
  { path: '/developers', label: 'Developers portal' },
];

/**
 * `/dashboard/find?q=`: everything with a matching name, text or ID. The command palette shows the results of this
 * page.
 */
export function addFind(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  app.get('/find', async (request, reply) => {
    const { tenant } = memberOf(request);
    const q = clean(text(queryOf(request), 'q').trim().slice(0, MAX_CHARS)); // may cut a pair of surrogates
    return show(request, reply, {
      template: 'find',
      title: 'Find',
      q,
      found: q === '' ? pagesLike('') : await find(deps, tenant.id, q),
    });
  });
}

async function find({ store, clock }: DashboardDeps, tenantId: string, q: string): Promise<SearchResult[]> {
  const page = { limit: MOST, after: null };
  const words = fold(q);
  const [endpoints, profiles, sources, campaigns, companies, leads, signals] = await Promise.all([
    store.listEndpoints(tenantId),
    store.listProfiles(tenantId),
    store.pageSources(tenantId, { limit: 100, after: null }),
    store.listCampaigns(tenantId, { statuses: [], limit: CAMPAIGNS_READ, after: null }),
    store.listCompanies(tenantId, {
      ...{ domains: [], industries: [], search: words || null, sort: '-last_signal_at' },
      ...page,
    }),
    store.listLeads(tenantId, { ...leadFilters.of({ q }), ...page }),
    store.listSignals(tenantId, { ...signalFilters.of({ q }), qBegins: true, ...page, explain: false }),
  ]);
  const yields = createYielder(clock);
  const like = async <T>(items: readonly T[], show: (item: T) => SearchResult): Promise<SearchResult[]> => {
    const found: SearchResult[] = [];
    for (const item of items) {
      await yields();
      const result = show(item);
      if (fold(`${result.label} ${result.detail}`).includes(words)) found.push(result);
      if (found.length === MOST) break;
    }
    return found;
  };
  return [
    ...byId(q),
    ...pagesLike(words),
    ...(await like(endpoints, (endpoint) => {
      const { id, label, url, status } = shownEndpoint(endpoint);
      return {
        ...{ kind: 'Webhook', path: `/dashboard${WEBHOOKS}/${id}` },
        ...{ label: label || url, detail: label ? `${url} ${status}` : status },
      };
    })),
    ...companies.rows.map(({ id, domain, facts }) => ({
      ...{ kind: 'Company', path: `/dashboard/companies/${id}` },
      ...{ label: facts.manual.name?.value ?? facts.observed.name?.value ?? domain, detail: domain },
    })),
    ...leads.rows.map((row) => {
      const lead = parseBytes<Lead>(row);
      const detail = lead.company.name || lead.company.domain || lead.title;
      return { kind: 'Lead', path: `/dashboard/leads/${lead.id}`, label: nameOf(lead), detail };
    }),
    ...parseRows<Signal>(signals.json).map((signal) => ({
      ...{ kind: 'Signal', path: `/dashboard/signals/${signal.signal_id}` },
      label: headlineOf(signal.excerpt),
      detail: [signal.prospect.name || signal.company.name, whereOf(signal.platform)]
        .filter(Boolean)
        .join(' · '),
    })),
    ...(await like(campaigns.rows, ({ id, name, status }) => ({
      ...{ kind: 'Campaign', path: `/dashboard/campaigns/${id}`, label: name, detail: status },
    }))),
    ...(await like(profiles, ({ id, name, description }) => ({
      ...{ kind: 'Profile', path: `/dashboard/profiles/${id}`, label: name },
      detail: Array.from(description).slice(0, 90).join(''),
    }))),
    ...(await like(sources.rows, ({ id, name, kind }) => ({
      ...{ kind: 'Source', path: `/dashboard/sources/${id}`, label: name, detail: kindWords(kind) },
    }))),
  ];
}

/** The screen for an ID. It shows an error itself if the resource does not exist. */
function byId(q: string): SearchResult[] {
  const [id, prefix = ''] = /^([a-z]{3})_[0-9a-z]{1,60}$/.exec(q) ?? [];
  const place = PLACES[prefix];
  return id === undefined || place === undefined
    ? []
    : [{ kind: place.kind, path: place.path + id, label: id, detail: '' }];
}

function pagesLike(words: string): SearchResult[] {
  return [...NAVIGATION.flatMap(({ links }) => links), ...MORE_PAGES]
    .filter(({ label }) => fold(label).includes(words))
    .map(({ path, label }) => ({ kind: 'Page', path, label, detail: '' }));
}
