import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { readSettings } from '../accounts/settings.ts';
import { addLead } from '../leads/add-lead.ts';
import { DAY_MS } from '../lib/clock.ts';
import { cutText, markdownCuts } from '../lib/markdown-text.ts';
import { excerpt } from '../lib/text.ts';
import { createYielder, eachInTurns } from '../lib/yielding.ts';
import { CLASSIFICATIONS, MOST_OUTCOMES } from '../model/constants.ts';
import { DomainError } from '../model/errors.ts';
import type { EventResource } from '../model/event-resource.ts';
import { leadInputSchema } from '../model/lead.ts';
import {
  type Explanation,
  SIGNAL_TYPES,
  type Signal,
  type SignalQuery,
  signalFilters,
  TRIAGE_STATES,
} from '../model/signal.ts';
import { giveFeedback } from '../signals/feedback.ts';
import {
  assignSignals,
  bestMatches,
  draftReply,
  firstNameOf,
  morningOf,
  needOf,
  offerSentence,
  REPLY_PLACEHOLDERS,
  readReplyTemplate,
  saveReplyTemplate,
  saveView,
  snoozeSignals,
} from '../signals/triage.ts';
import { platformName } from '../signals/why.ts';
import { endpointsOfEvents, eventResource } from '../webhooks/deliveries.ts';
import { endpointNames, REASON_WORDS } from './delivery-words.ts';
import type { DashboardDeps } from './deps.ts';
import {
  type Form,
  faultsOf,
  filtersOf,
  formOf,
  isFiltered,
  kept,
  NO_FILTERS,
  oneOf,
  queryOf,
  text,
  texts,
} from './forms.ts';
import { checked, leadCallerOf, memberOf } from './gate.ts';
import { PAGE_ROWS, readScreenPage } from './paging.ts';
import { SIGNAL_TYPE_WORDS } from './profiles.ts';
import type { Show } from './screens.ts';
import { type SignalCard, signalCard, signalCards } from './signal-card.ts';

const MOST_COUNTED = 100;
const STATES: readonly { state: (typeof TRIAGE_STATES)[number]; mine: boolean; label: string }[] = [
  { state: 'open', mine: false, label: 'Inbox' },
  { state: 'open', mine: true, label: 'Assigned to me' },
  { state: 'snoozed', mine: false, label: 'Snoozed' },
  { state: 'done', mine: false, label: 'Done' },
  { state: 'all', mine: false, label: 'All' },
];
type InboxFilter = Omit<SignalQuery, 'limit' | 'after' | 'explain'>;

/** The inbox, the screen of one signal, and ratings, snoozing, assigning and adding leads. */
export function addSignals(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  const { store } = deps;
  const showInbox = inboxScreen(deps, show);
  app.get('/signals', (request, reply) => showInbox(request, reply));

  app.get<{ Params: { id: string } }>('/signals/:id', (request, reply) =>
    showSignal(deps, show, { request, reply, id: request.params.id }),
  );

  app.post<{ Params: { id: string } }>('/signals/:id/feedback', async (request, reply) => {
    const { tenant, user } = memberOf(request);
    const { id } = request.params;
    const form = formOf(request);
    const said = { signalId: id, relevant: text(form, 'relevant') === 'yes', reason: reasonOf(form) };
    await giveFeedback(deps, { tenantId: tenant.id, actorId: user.id }, said);
    const isExample = text(form, 'from') === 'start';
    return reply.redirect(isExample ? `/dashboard/start#${id}` : `/dashboard/signals/${id}?done=thanks`, 303);
  });

  app.post<{ Params: { id: string } }>('/signals/:id/lead', async (request, reply) => {
    const { id } = request.params;
    try {
      await addToPipeline(deps, request, [id]);
      return reply.redirect(`/dashboard/signals/${id}?done=added`, 303);
    } catch (error) {
      const faults = faultsOf(error);
      return showSignal(deps, show, { request, reply, id, fault: Object.values(faults).join(' ') });
    }
  });

  // One signal by its own buttons (`one`, "relevant sig_…"), or all checked signals by `act`.
  app.post('/signals/triage', async (request, reply) => {
    const form = formOf(request);
    const [oneAct, oneId] = text(form, 'one').split(' ', 2);
    const act = oneAct || text(form, 'act');
    const ids = oneId === undefined ? texts(form, 'id') : [oneId];
    try {
      const done = ids.length === 0 ? 'none-chosen' : await triage(deps, request, { act, ids, form });
      return await reply.redirect(backTo(text(form, 'back'), done), 303);
    } catch (error) {
      return showInbox(request, reply, Object.values(faultsOf(error)).join(' '));
    }
  });

  app.post('/signals/views', async (request, reply) => {
    const form = formOf(request);
    const query = kept(new URLSearchParams(text(form, 'query')));
    try {
      await saveView(deps, memberOf(request).tenant.id, { name: text(form, 'name'), query });
      return await reply.redirect(backTo(query, 'saved'), 303);
    } catch (error) {
      return showInbox(request, reply, Object.values(faultsOf(error)).join(' '));
    }
  });

  app.post<{ Params: { id: string } }>('/signals/views/:id/delete', async (request, reply) => {
    if (!(await store.deleteSignalView(memberOf(request).tenant.id, request.params.id)))
      throw new DomainError('NOT_FOUND', `There is no view "${request.params.id}".`);
    return reply.redirect(backTo('', 'deleted'), 303);
  });
}

/** `/settings/reply`: the template that replies are drafted from. */
export function addReplyTemplate(app: FastifyInstance, { store }: DashboardDeps, show: Show): void {
  const showTemplate = (
    request: FastifyRequest,
    reply: FastifyReply,
    { template, faults = {} }: { template: string; faults?: Record<string, string> },
  ) =>
    show(request, reply, {
      template: 'reply-template',
      title: 'Reply template',
      status: Object.keys(faults).length === 0 ? 200 : 400,
      template_text: template,
      faults,
      placeholders: REPLY_PLACEHOLDERS,
    });

  app.get('/settings/reply', async (request, reply) =>
    showTemplate(request, reply, {
      template: await readReplyTemplate(store, memberOf(request).tenant.id),
    }),
  );

  app.post('/settings/reply', async (request, reply) => {
    const template = text(formOf(request), 'template');
    try {
      await saveReplyTemplate(store, memberOf(request).tenant.id, template);
      return await reply.redirect('/dashboard/settings/reply?done=saved', 303);
    } catch (error) {
      return showTemplate(request, reply, { template, faults: faultsOf(error) });
    }
  });
}

/** Makes signals part of leads, and ends their stay in the inbox, also if their author is a lead already. @throws DomainError */
async function addToPipeline(deps: DashboardDeps, request: FastifyRequest, ids: readonly string[]) {
  for (const id of ids) {
    await addLead(deps, leadCallerOf(request), checked(leadInputSchema, { signal_ids: [id] }));
  }
  await deps.store.triageSignals(memberOf(request).tenant.id, ids, { added: true });
}

/** Applies an action to signals; returns the notice to show. @throws DomainError */
async function triage(
  deps: DashboardDeps,
  request: FastifyRequest,
  { act, ids, form }: { act: string; ids: readonly string[]; form: Form },
): Promise<string> {
  const { tenant, user } = memberOf(request);
  switch (act) {
    case 'relevant':
    case 'not_relevant':
      for (const signalId of ids) {
        const said = { signalId, relevant: act === 'relevant', reason: '' };
        await giveFeedback(deps, { tenantId: tenant.id, actorId: user.id }, said);
      }
      return 'thanks';
    case 'lead':
      await addToPipeline(deps, request, ids);
      return 'added';
    case 'assign':
      await assignSignals(deps, tenant.id, { ids, assignee: text(form, 'assignee') });
      return 'assigned';
    case 'wake':
      await snoozeSignals(deps, tenant.id, { ids, until: null });
      return 'awake';
    case 'snooze': {
      const { timezone } = await readSettings(deps, tenant.id);
      const days = /^\d{1,3}$/.exec(text(form, 'until'))?.[0];
      const day =
        days === undefined
          ? text(form, 'until_day')
          : new Date(deps.clock.now() + Number(days) * DAY_MS).toISOString().slice(0, 10);
      await snoozeSignals(deps, tenant.id, { ids, until: morningOf(day, timezone) });
      return 'snoozed';
    }
    default:
      return 'none-chosen';
  }
}

function inboxScreen(deps: DashboardDeps, show: Show) {
  const { store, clock } = deps;
  return async (request: FastifyRequest, reply: FastifyReply, fault: string | null = null) => {
    const { tenant, user } = memberOf(request);
    const query = fault === null ? queryOf(request) : {};
    const me = { email: user.email, now: clock.now() };
    const { filter, filterFaults } = inboxFilterOf(query, me);
    const [listed, profiles, members, views] = await Promise.all([
      readList(deps, request, filter, query),
      store.listProfiles(tenant.id),
      store.listMembers(tenant.id),
      store.listSignalViews(tenant.id),
    ]);
    const count = async (form: Form, shown: { label: string; id: string | null }) => ({
      ...shown,
      query: new URLSearchParams(form as Record<string, string>).toString(),
      isCurrent: sameFilters(form, query),
      count: await store.countSignals(
        tenant.id,
        { ...inboxFilterOf(form, me).filter, limit: MOST_COUNTED, after: null, explain: false },
        MOST_COUNTED,
      ),
    });
    // One after the other: a count of a search takes up to 10 ms, and there may be twenty of them.
    const tabs = await eachInTurns(STATES, ({ state, mine, label }) =>
      count({ ...(state !== 'open' && { state }), ...(mine && { assignee: 'me' }) }, { label, id: null }),
    );
    const saved = await eachInTurns(views, ({ id, name, query: filters }) =>
      count(Object.fromEntries(new URLSearchParams(filters)), { label: name, id }),
    );
    const done = await store.listTriage(
      tenant.id,
      listed.signals.map(({ signal_id: id }) => id),
    );
    const triaged = new Map(done.map((each) => [each.signalId, each]));
    return show(request, reply, {
      template: 'signals',
      title: 'Signals',
      status: fault === null ? 200 : 400,
      fault,
      next: listed.next,
      first: listed.first,
      query,
      back: kept(new URLSearchParams(query as Record<string, string>)),
      state: filter.triage?.state,
      isFiltered: isFiltered(Object.fromEntries(Object.entries(query).filter(([name]) => name !== 'signal'))),
      signals: listed.signals.map((signal) => ({ ...signal, triage: triaged.get(signal.signal_id) ?? null })),
      filterFaults,
      profiles,
      members: members.map(({ email }) => email),
      tabs: [...tabs, ...saved],
      mostCounted: MOST_COUNTED,
      now: me.now,
      classifications: CLASSIFICATIONS,
      signalTypes: SIGNAL_TYPES,
      signalTypeWords: SIGNAL_TYPE_WORDS,
    });
  };
}

/** A page of the list. A search without an explicit order returns the best match first. */
async function readList(
  deps: DashboardDeps,
  request: FastifyRequest,
  filter: InboxFilter,
  query: Form,
): Promise<{ signals: SignalCard[]; next: string | null; first: string | null }> {
  const { id } = memberOf(request).tenant;
  const { q } = filter;
  if (q !== null && text(query, 'sort') === '') {
    const found = await bestMatches(deps.store, id, { ...filter, q });
    const newest = kept(new URLSearchParams({ ...(query as Record<string, string>), sort: '-timestamp' }));
    return {
      signals: found.slice(0, PAGE_ROWS).map((signal) => signalCard(signal)),
      next: found.length > PAGE_ROWS ? `/dashboard/signals?${newest}` : null,
      first: null,
    };
  }
  const { triage: done, ...filters } = filter;
  const { page, ...pages } = await readScreenPage(deps, request, {
    name: 'signals',
    filters: { ...filters, state: done?.state, assignee: done?.assignee },
    read: (place) => deps.store.listSignals(id, { ...filter, ...place, explain: true }),
  });
  return { signals: signalCards(page.json), ...pages };
}

/**
 * The list filters of a query. By default, the inbox shows hot and warm signals that nobody has triaged; a search, or
 * a filter by state, includes all classes.
 */
export function inboxFilterOf(
  query: Form,
  { email, now }: { email: string; now: number },
): { filter: InboxFilter; filterFaults: string[] } {
  const { filters, filterFaults } = filtersOf(signalFilters, query);
  const isSearch = filters.q !== null;
  const named = oneOf(query, 'state', TRIAGE_STATES);
  if (named === null && text(query, 'state') !== '') {
    filterFaults.push(`"state" must be one of ${TRIAGE_STATES.map((name) => `"${name}"`).join(', ')}.`);
  }
  const state = named ?? (isSearch ? 'all' : 'open');
  const assignee = text(query, 'assignee');
  const hidesCold = state === 'open' && filters.classifications.length === 0 && filters.minScore === null;
  return {
    filter: {
      ...filters,
      ...(hidesCold && {
        classifications: ['hot', 'warm'] as const satisfies InboxFilter['classifications'],
      }),
      triage: { state, now, assignee: assignee === '' ? null : assignee === 'me' ? email : assignee },
    },
    filterFaults,
  };
}

function sameFilters(a: Form, b: Form): boolean {
  const plain = (form: Form) =>
    Object.entries(form)
      .filter(([name, value]) => !NO_FILTERS.has(name) && value !== '')
      .map(([name, value]) => `${name}=${String(value)}`)
      .sort()
      .join('&');
  return plain(a) === plain(b);
}

/** Redirects back to the filtered list, to Today, or to the signal's own page. */
function backTo(back: string, done: string): string {
  if (back === 'today') return `/dashboard?done=${done}`;
  const [, signal] = /^signal (sig_\w{1,60})$/.exec(back) ?? [];
  if (signal !== undefined) return `/dashboard/signals/${signal}?done=${done}`;
  const filters = kept(new URLSearchParams(back));
  return `/dashboard/signals?${filters === '' ? '' : `${filters}&`}done=${done}`;
}

function reasonOf(form: Form): string {
  return text(form, 'reason').trim().slice(0, 1_000);
}

/** The maximum number of a signal's events on its screen. */
const MOST_EVENTS = 10;

/** The screen of one signal: its text with marked evidence, its points, and its deliveries. */
async function showSignal(
  deps: DashboardDeps,
  show: Show,
  {
    request,
    reply,
    id,
    fault = null,
  }: { request: FastifyRequest; reply: FastifyReply; id: string; fault?: string | null },
): Promise<FastifyReply> {
  const { tenant } = memberOf(request);
  const found = await deps.store.getSignal(tenant.id, id);
  if (found === null) throw new DomainError('NOT_FOUND', `There is no signal "${id}".`);
  const signal: Signal = JSON.parse(found.wire);
  const explanation: Explanation = JSON.parse(found.explanation);
  const { domain } = signal.company;
  const [feedback, events, endpoints, company, [triage], members, template, profile] = await Promise.all([
    deps.store.getFeedback(tenant.id, id),
    deps.store.listEventsAbout(tenant.id, id, MOST_EVENTS),
    endpointsOfEvents(deps, tenant.id),
    domain === '' ? null : deps.store.findCompany(tenant.id, { domain: domain.toLowerCase() }),
    deps.store.listTriage(tenant.id, [id]),
    deps.store.listMembers(tenant.id),
    readReplyTemplate(deps.store, tenant.id),
    deps.store.getProfile(tenant.id, signal.icp_profile_id),
  ]);
  const nextTurn = createYielder(deps.clock);
  const outcomes: EventResource[] = [];
  for (const event of events) {
    await nextTurn(); // each has an outcome for every endpoint
    outcomes.push(eventResource(event, endpoints, deps.clock.now()));
  }
  const shown = signalCard({ ...signal, explanation }, found.text);
  const reasons = [...explanation.factors, ...explanation.negatives];
  const evidence = reasons.flatMap((factor) => factor.evidence.filter(({ field }) => field === 'text'));
  return show(request, reply, {
    template: 'signal',
    title: excerpt(shown.headline, 55),
    status: fault === null ? 200 : 400,
    fault,
    signal: shown,
    platformName,
    explanation,
    factors: reasons.filter(({ points, max }) => points !== 0 || max !== 0),
    pieces: highlight(found.text, evidence),
    feedback,
    triage,
    members: members.map(({ email }) => email),
    now: deps.clock.now(),
    draft: draftReply(template, {
      first_name: firstNameOf(signal.prospect.name),
      need: needOf(shown.why),
      headline: shown.headline,
      community: shown.where,
      offer: offerSentence(profile?.offer ?? ''),
      sender: tenant.name,
    }),
    company,
    events: outcomes,
    nameOf: endpointNames(endpoints),
    reasonWords: REASON_WORDS,
    mostOutcomes: MOST_OUTCOMES,
  });
}

/** A piece of a text, marked if it is evidence. */
export interface TextPiece {
  text: string;
  marked: boolean;
}

/**
 * Splits a text where evidence begins and ends, and removes markup. Offsets are Unicode code points; they may overlap
 * and occur anywhere.
 */
export function highlight(text: string, evidence: readonly { start: number; end: number }[]): TextPiece[] {
  const units = unitsOf(text);
  const last = units.length - 1;
  const unitAt = (point: number) => units[Math.min(point, last)] ?? text.length;
  const cuts = markdownCuts(text);
  const pieces: TextPiece[] = [];
  let at = 0;
  const add = (end: number, marked: boolean) => {
    const shown = cutText(text, cuts, { start: at, end });
    if (shown !== '') pieces.push({ text: shown, marked });
    at = end;
  };
  for (const { start, end } of [...evidence].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const from = Math.max(at, unitAt(start));
    const to = unitAt(end);
    if (to <= from) continue;
    if (from > at) add(from, false);
    add(to, true);
  }
  if (at < text.length) add(text.length, false);
  return pieces;
}

/** The UTF-16 offset of each code point, followed by the end of the text. */
function unitsOf(text: string): number[] {
  const units: number[] = [];
  let at = 0;
  for (const point of text) {
    units.push(at);
    at += point.length;
  }
  units.push(at);
  return units;
}
