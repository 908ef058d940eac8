import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { campaignResource, changeCampaign, findCampaign } from '../campaigns/campaigns.ts';
import { campaignStats } from '../campaigns/stats.ts';
import { largestOf } from '../lib/lists.ts';
import {
  CAMPAIGN_STATUSES,
  type CampaignStats,
  COUNTED,
  COUNTED_CLASSES,
  campaignFilters,
  campaignPatchSchema,
} from '../model/campaign.ts';
import { chartHtml, dayLabel, spanLabel } from './charts.ts';
import type { DashboardDeps } from './deps.ts';
import { faultsOf, filtersOf, formOf, isFiltered, queryOf, text } from './forms.ts';
import { checked, memberOf } from './gate.ts';
import { readScreenPage } from './paging.ts';
import type { Show } from './screens.ts';

/** The series in the chart; the table on the screen has the rest. */
const DRAWN = [
  { name: 'sent', label: 'Sent', look: 'one' },
  { name: 'opened', label: 'Opened', look: 'two' },
  { name: 'clicked', label: 'Clicked', look: 'three' },
  { name: 'replied', label: 'Replied', look: 'four' },
] as const;

type Params = { Params: { id: string } };

/** `/dashboard/campaigns`: active campaigns and their performance, with the numbers behind the charts. */
export function addCampaigns(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  app.get('/campaigns', async (request, reply) => {
    const { tenant } = memberOf(request);
    const query = queryOf(request);
    const { filters, filterFaults } = filtersOf(campaignFilters, query);
    const { page, ...pages } = await readScreenPage(deps, request, {
      name: 'campaigns',
      filters,
      read: (place) => deps.store.listCampaigns(tenant.id, { ...filters, ...place }),
    });
    return show(request, reply, {
      template: 'campaigns',
      title: 'Campaigns',
      ...pages,
      filterFaults,
      campaigns: page.rows.map(campaignResource),
      statuses: CAMPAIGN_STATUSES,
      chosen: filters.statuses,
      isFiltered: isFiltered(query),
    });
  });

  const showCampaign = campaignScreen(deps, show);
  app.get<Params>('/campaigns/:id', (request, reply) =>
    showCampaign(request, reply, request.params.id, null),
  );

  app.post<Params>('/campaigns/:id/status', async (request, reply) => {
    const { id } = request.params;
    try {
      const patch = checked(campaignPatchSchema, { status: text(formOf(request), 'status') });
      await changeCampaign(deps, memberOf(request).tenant.id, { id, patch });
    } catch (error) {
      return showCampaign(request, reply, id, Object.values(faultsOf(error)).join(' '));
    }
    return reply.redirect(`/dashboard/campaigns/${encodeURIComponent(id)}?done=saved`, 303);
  });
}

function campaignScreen({ store }: DashboardDeps, show: Show) {
  return async (request: FastifyRequest, reply: FastifyReply, id: string, fault: string | null) => {
    const campaign = await findCampaign(store, memberOf(request).tenant.id, id);
    const stats = await campaignStats(store, campaign, {
      from: null,
      to: null,
      interval: null,
      timezone: 'UTC',
    });
    return show(request, reply, {
      template: 'campaign',
      title: campaign.name,
      status: fault === null ? 200 : 400,
      fault,
      campaign: campaignResource(campaign),
      stats,
      chartHtml: chartOf(stats),
      counted: COUNTED,
      classes: COUNTED_CLASSES.filter((name) => stats.replies_by_class[name].total > 0),
      most: largestOf(
        COUNTED.map((name) => stats.counts[name].unique),
        1,
      ),
      statuses: CAMPAIGN_STATUSES,
      share: (value: number | null) => (value === null ? '–' : `${Math.round(value * 1_000) / 10}%`),
    });
  };
}

/** A campaign's events over time, if there are at least two points to connect. */
function chartOf({ series, interval }: CampaignStats): string {
  const days = series.map(({ date }) => date);
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined || days.length < 2) return '';
  return chartHtml({
    title: 'Over time',
    unit: `Events per ${interval}, ${spanLabel(first, last)}, UTC`,
    along: interval === 'week' ? 'Week from' : 'Day',
    labels: days.map(dayLabel),
    series: DRAWN.map(({ name, label, look }) => ({
      name: label,
      look,
      values: series.map(({ counts }) => counts[name].total),
    })),
    kind: 'lines',
  });
}
