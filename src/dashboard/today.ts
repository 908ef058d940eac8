import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isHttps } from '../http/request-context.ts';
import { namesOf } from '../leads/lead-names.ts';
import { DAY_MS, fromIso, toIso } from '../lib/clock.ts';
import { parseRows } from '../lib/json.ts';
import { eachInTurns } from '../lib/yielding.ts';
import { SAMPLE_PLATFORM } from '../model/constants.ts';
import type { EventType } from '../model/event.ts';
import type { Position } from '../model/filters.ts';
import { keyResource } from '../model/key.ts';
import type { Lead } from '../model/lead.ts';
import { type Signal, signalFilters } from '../model/signal.ts';
import { sourceResource } from '../model/source.ts';
import { dateIn } from '../rules/digest-time.ts';
import type { Store } from '../store/store.ts';
import { chartHtml, dayLabel, spanLabel } from './charts.ts';
import { cookieOptions } from './cookies.ts';
import { PAUSE_WORDS, shownEndpoint } from './delivery-words.ts';
import type { DashboardDeps } from './deps.ts';
import { memberOf } from './gate.ts';
import { money } from './leads.ts';
import type { Show } from './screens.ts';
import { explained, signalCard } from './signal-card.ts';

const HOT_SHOWN = 6;
/** How many of the newest hot signals are read, because triaged ones are skipped. */
const HOT_LOOKED_AT = 24;
const SOURCES_LOOKED_AT = 100;
const PAUSED_SHOWN = 5;
const DEAD_LOOKED_AT = 26;
const STEPS_SHOWN = 8;
const DAYS_SHOWN = 30;
/** The highest number shown in full. */
const MOST_COUNTED = 10_000;

/** `/dashboard`: hot signals, everything that needs attention, and the next steps of a new account. */
export function addToday(app: FastifyInstance, { store, clock, baseUrl }: DashboardDeps, show: Show): void {
  app.get('/', async (request, reply) => {
    const { tenant, user } = memberOf(request);
    const now = { at: clock.now(), position: await store.storedPosition(tenant.id) };
    const since = lastVisit(request, reply, { userId: user.id, now, baseUrl });
    const hot = {
      ...signalFilters.of({ classification: 'hot' }),
      limit: HOT_LOOKED_AT,
      after: null,
      explain: true,
    };
    const any = { ...signalFilters.of({}), limit: 1, after: null, explain: false };
    const dead = {
      ...{ endpointId: null, status: 'dead' as const, eventType: null, eventId: null, from: null, to: null },
      limit: DEAD_LOOKED_AT,
      after: null,
    };
    const [
      latestHot,
      hotPage,
      anyPage,
      endpoints,
      sources,
      deadPage,
      keys,
      profiles,
      hasSamples,
      changes,
      settings,
      month,
    ] = await Promise.all([
      store.latestSignals(tenant.id, { classification: 'hot', limit: HOT_LOOKED_AT }),
      store.listSignals(tenant.id, hot),
      store.listSignals(tenant.id, any),
      store.listEndpoints(tenant.id),
      store.pageSources(tenant.id, { limit: SOURCES_LOOKED_AT, after: null }),
      store.listDeliveries(tenant.id, dead),
      store.listKeys(tenant.id),
      store.listProfiles(tenant.id),
      store.hasSignalsOf(tenant.id, SAMPLE_PLATFORM),
      since === null ? [] : changesSince(store, tenant.id, since),
      store.getSettings(tenant.id),
      lastMonth(store, tenant.id, now.at),
    ]);
    const today = dateIn(settings?.timezone ?? 'UTC', now.at);
    const due = await store.listDueSteps(tenant.id, { until: today, limit: STEPS_SHOWN + 1 });
    const dueLeads = due.slice(0, STEPS_SHOWN).map((wire) => JSON.parse(wire) as Lead);
    // A batch stored late has an earlier time than signals already shown: order by commit.
    const newest = onceEach([...explained(latestHot), ...explained(hotPage.json)]).slice(0, HOT_LOOKED_AT);
    const hotSignals = await stillWanted(store, tenant.id, { signals: newest, now: now.at });
    const hasSignals = anyPage.json.length > 0;
    const failing = sources.rows.map(sourceResource).filter(({ last_error }) => last_error !== null);
    return show(request, reply, {
      template: 'today',
      title: 'Today',
      // Take the newest, so that none is missed, and show the best of them first.
      signals: hotSignals
        .slice(0, HOT_SHOWN)
        .sort((a, b) => b.signal.icp_score - a.signal.icp_score)
        .map(({ signal, said }) => ({ ...signalCard(signal), said })),
      since: since === null ? null : since.at,
      changes,
      month,
      hasSignals,
      hasSamples,
      // Nothing has been found yet, and there is no profile to search with: creating one comes first.
      isFresh: !hasSignals && profiles.length === 1 && profiles[0]?.phrases.length === 0,
      offer: '',
      domain: '',
      faults: {},
      due: dueLeads,
      moreDue: due.length > STEPS_SHOWN,
      today,
      nameOf: await namesOf(store, dueLeads),
      paused: endpoints.filter(({ status }) => status === 'paused').map(shownEndpoint),
      pausedShown: PAUSED_SHOWN,
      pauseWords: PAUSE_WORDS,
      failing,
      dead: {
        count: Math.min(deadPage.rows.length, DEAD_LOOKED_AT - 1),
        isMore: deadPage.rows.length === DEAD_LOOKED_AT,
      },
      steps: [
        {
          done: sources.rows.length > 0 || (hasSignals && !hasSamples),
          title: 'Choose where to look',
          text: 'Communities, searches and feeds that fit your profile, with a preview of each.',
          link: { path: '/dashboard/sources/suggested', label: 'Choose sources' },
        },
        {
          done: endpoints.length > 0,
          title: 'Get notified',
          text: 'Get every signal in Slack or at your own URL the moment it’s found.',
          link: { path: '/dashboard/settings/integrations/slack', label: 'Connect Slack' },
        },
        {
          done: keys.map(keyResource).some(({ last_used_at }) => last_used_at !== null),
          title: 'Use the API',
          text: 'Create an API key with a ready-made request.',
          link: { path: '/dashboard/settings/api-keys', label: 'API keys' },
        },
      ],
    });
  });
}

/** Figures and a chart of the last thirty days; null if there was no activity. */
async function lastMonth(store: Store, tenantId: string, now: number) {
  const since = (Math.floor(now / DAY_MS) - (DAYS_SHOWN - 1)) * DAY_MS;
  const days = Array.from({ length: DAYS_SHOWN }, (_, i) => toIso(since + i * DAY_MS).slice(0, 10));
  const [counted, judged, leads, deals] = await Promise.all([
    store.countSignalsByDay(tenantId, days[0] ?? ''),
    store.countJudged(tenantId, { since, most: MOST_COUNTED }),
    store.countLeads(tenantId, { since, most: MOST_COUNTED }),
    store.sumOpenDeals(tenantId),
  ]);
  if (counted.length === 0 && leads === 0) return null;
  const byDay = new Map(counted.map((each) => [each.day, each]));
  const hot = days.map((day) => byDay.get(day)?.hot ?? 0);
  const warm = days.map((day) => byDay.get(day)?.warm ?? 0);
  const worth = deals.map(({ amount_minor, currency }) => money(amount_minor, currency));
  return {
    hot: hot.reduce((sum, count) => sum + count, 0),
    judged,
    leads,
    worth: worth.join(', ') || '–',
    mostCounted: MOST_COUNTED,
    chartHtml: chartHtml({
      title: 'Hot and warm signals',
      unit: `Signals per day, ${spanLabel(days[0] ?? '', days.at(-1) ?? '')}, UTC`,
      along: 'Day',
      labels: days.map(dayLabel),
      series: [
        { name: 'Hot', look: 'hot', values: hot },
        { name: 'Warm', look: 'warm', values: warm },
      ],
      kind: 'bars',
    }),
  };
}

/**
 * Removes signals that were marked as not relevant, snoozed or added to the pipeline. New posts of a lead are kept.
 */
async function stillWanted<T extends Signal>(
  store: Store,
  tenantId: string,
  { signals, now }: { signals: T[]; now: number },
) {
  const ids = signals.map(({ signal_id: id }) => id);
  const leadIds = [...new Set(signals.flatMap(({ lead_id: id }) => id ?? []))];
  const [triage, leads] = await Promise.all([
    store.listTriage(tenantId, ids),
    eachInTurns(leadIds, (id) => store.getLead(tenantId, id)),
  ]);
  const triaged = new Map(triage.map((each) => [each.signalId, each]));
  const leadSince = new Map(
    leads.flatMap((found) =>
      found === null ? [] : [[found.lead.id, fromIso(found.lead.created_at)] as const],
    ),
  );
  return signals.flatMap((signal) => {
    const said = triaged.get(signal.signal_id);
    const since = signal.lead_id === null ? undefined : leadSince.get(signal.lead_id);
    const wasAdded = since !== undefined && since >= fromIso(signal.timestamp);
    const isAway = wasAdded || said?.relevant === false || (said?.snoozedUntil ?? 0) > now;
    return isAway ? [] : [{ signal, said }];
  });
}

function onceEach<T extends Signal>(signals: readonly T[]): T[] {
  return [...new Map(signals.map((signal) => [signal.signal_id, signal])).values()];
}

/** A visit ends after this long without a request. */
const VISIT_MS = 30 * 60_000;
const KEPT_SECONDS = 90 * 86_400;
/** The maximum count; above it, "more than" is shown. */
const MOST_NEW = 100;
/** If few signals match, at most this many pages are read; then the count is shown as "more than". */
const MOST_PAGES = 5;

/** The end of a visit, Unix milliseconds, and the position in commit order at that time. */
export interface Visit {
  at: number;
  position: number;
}

/**
 * The end of the previous visit; null if unknown. It is kept in the browser: a convenience that other devices do not
 * need, and that costs the store nothing.
 */
function lastVisit(
  request: FastifyRequest,
  reply: FastifyReply,
  { userId, now, baseUrl }: { userId: string; now: Visit; baseUrl: string },
): Visit | null {
  const secure = isHttps(baseUrl);
  const name = secure ? '__Host-signalpost-visit' : 'signalpost-visit';
  const [who, ...kept] = (request.cookies[name] ?? '').split('.');
  const known = who === userId && kept.length === 4 && kept.every((number) => /^\d{1,16}$/.test(number));
  const [beforeAt = 0, beforePosition = 0, seenAt = now.at, seenPosition = now.position] = known
    ? kept.map(Number)
    : [];
  const isNew = now.at - seenAt >= VISIT_MS;
  const previous = isNew
    ? { at: seenAt, position: seenPosition }
    : { at: beforeAt, position: beforePosition };
  const value = [userId, previous.at, previous.position, now.at, now.position].join('.');
  reply.setCookie(name, value, { ...cookieOptions(secure), maxAge: KEPT_SECONDS });
  return previous.at === 0 ? null : previous;
}

/** A count with an upper bound. */
export interface BoundedCount {
  count: number;
  isMore: boolean;
}

/** What has happened since a given time, each item with the address of its list. */
export interface Change extends BoundedCount {
  one: string;
  many: string;
  path: string;
}

const TOLD: [type: EventType, one: string, many: string, path: string][] = [
  ['pipeline.stage_changed', 'lead moved', 'leads moved', '/dashboard/pipeline'],
  ['reply.classified', 'new reply', 'new replies', '/dashboard/campaigns'],
  ['deal.changed', 'deal changed', 'deals changed', '/dashboard/pipeline'],
];

/** Signals stored after a visit, and the start time from which their list includes all of them. */
async function signalsSince(store: Store, tenantId: string, since: Visit, classification: string) {
  const query = { ...signalFilters.of({ classification }), limit: MOST_NEW, explain: false };
  let found: BoundedCount = NONE;
  let from = since.at + 1;
  let after: Position = [since.position];
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page = await store.listStoredSignals(tenantId, { ...query, after });
    for (const { timestamp } of parseRows<Signal>(page.json)) from = Math.min(from, fromIso(timestamp));
    found = { count: Math.min(MOST_NEW, found.count + page.count), isMore: page.hasMore };
    after = page.next;
    if (!page.hasMore || found.count === MOST_NEW) break;
  }
  return { ...found, from: toIso(from) };
}

/** Everything that happened after `since`; kinds without changes are omitted. */
async function changesSince(store: Store, tenantId: string, since: Visit): Promise<Change[]> {
  const page = { limit: MOST_NEW, after: null };
  const start = since.at + 1;
  const signals = (classification: string) => signalsSince(store, tenantId, since, classification);
  const [hot, all, dead, ...told] = await Promise.all([
    signals('hot'),
    signals(''),
    store
      .listDeliveries(tenantId, {
        ...{ endpointId: null, status: 'dead', eventType: null, eventId: null, from: start, to: null },
        ...page,
      })
      .then(({ rows, last }) => counted(rows.length, last)),
    ...TOLD.map(([type]) =>
      store
        .listEvents(tenantId, { types: [type], from: start, to: null, ...page })
        .then(({ rows, last }) => counted(rows.length, last)),
    ),
  ]);
  return [
    {
      ...hot,
      one: 'hot signal',
      many: 'hot signals',
      path: `/dashboard/signals?state=all&classification=hot&from=${hot.from}`,
    },
    {
      ...all,
      one: 'signal in total',
      many: 'signals in total',
      path: `/dashboard/signals?state=all&from=${all.from}`,
    },
    ...TOLD.map(([, one, many, path], at) => ({ ...(told[at] ?? NONE), one, many, path })),
    {
      ...dead,
      one: 'dead letter',
      many: 'dead letters',
      path: `/dashboard/dead-letters?from=${toIso(start)}`,
    },
  ].filter(({ count }) => count > 0);
}

const NONE: BoundedCount = { count: 0, isMore: false };

function counted(count: number, last: unknown): BoundedCount {
  return { count, isMore: last !== null };
}
