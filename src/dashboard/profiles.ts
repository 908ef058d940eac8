import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { check } from '../http/faults.ts';
import { refusal } from '../http/json-body.ts';
import { DAY_MS, toIso } from '../lib/clock.ts';
import {
  defaultProfile,
  type IcpInput,
  type IcpResource,
  icpInputSchema,
  icpResource,
  WEIGHT_KEYS,
  WEIGHT_LABELS,
} from '../model/icp.ts';
import {
  draftInputSchema,
  type IcpSuggestion,
  type Share,
  suggestionActionSchema,
} from '../model/icp-draft.ts';
import { SIGNAL_TYPES, type SignalType } from '../model/signal.ts';
import { draftForSeller } from '../signals/draft.ts';
import { qualityByWeek, qualityOf } from '../signals/feedback.ts';
import {
  changeProfile,
  createProfile,
  deleteProfile,
  findProfile,
  previewProfile,
} from '../signals/profiles.ts';
import { decideSuggestion, listSuggestions, MAX_JUDGED } from '../signals/suggestions.ts';
import type { Judgement } from '../store/signal-store.ts';
import { chartHtml, dayLabel } from './charts.ts';
import type { DashboardDeps } from './deps.ts';
import { type Form, faultsOf, formOf, LARGE_FORM, lines, number, text, texts, ticked } from './forms.ts';
import { checked, memberOf } from './gate.ts';
import { readScreenPage } from './paging.ts';
import type { Show } from './screens.ts';

/** The number of stored posts that a draft is tried on. */
const TRIED = 50;
const WEEKS_SHOWN = 12;
const DAYS_SHOWN = 30;
/** The number of decided suggestions shown, newest ones only: rendering two thousand with long author names, 4.6 MB, took 0.1 s. */
const DECISIONS_SHOWN = 100;
/** The points that each bar of the histogram covers. */
const SCORES = 5;

/**
 * Ideal customer profiles: the list, creation from a sentence, and an editor that previews the effect of a change.
 */
export function addProfiles(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  app.get('/profiles', async (request, reply) => {
    const { tenant } = memberOf(request);
    const { page, ...pages } = await readScreenPage(deps, request, {
      name: 'profiles',
      filters: null,
      read: (place) => deps.store.pageProfiles(tenant.id, place),
    });
    return show(request, reply, {
      template: 'profiles',
      title: 'Profiles',
      ...pages,
      isOldestFirst: true,
      profiles: page.rows.map(icpResource),
    });
  });
  addNew(app, deps, show);
  addOne(app, deps, show);
  addProfileSuggestions(app, deps);
  app.post<{ Params: { id: string } }>('/profiles/:id/delete', async (request, reply) => {
    await deleteProfile(deps, memberOf(request).tenant.id, request.params.id);
    return reply.redirect('/dashboard/profiles?done=deleted', 303);
  });
}

function addNew(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  const screen = (request: FastifyRequest, reply: FastifyReply, shown: Record<string, unknown> = {}) =>
    show(request, reply, {
      template: 'profile-new',
      weightLabels: WEIGHT_LABELS,
      title: 'New profile',
      form: emptyProfileForm(),
      offer: '',
      review: null,
      signalTypes: SIGNAL_TYPE_WORDS,
      faults: {},
      preview: null,
      ...shown,
    });
  app.get('/profiles/new', { config: { onlyToChange: true } }, (request, reply) => screen(request, reply));
  app.post('/profiles/new', LARGE_FORM, async (request, reply) => {
    const { tenant } = memberOf(request);
    const form = formOf(request);
    const act = text(form, 'act');
    const offer = text(form, 'offer');
    try {
      if (act === 'draft') {
        const asked = check(draftInputSchema, { offer }, 'body');
        if (!asked.ok) throw refusal(asked, 'body');
        const { draft, review } = await draftForSeller(deps, tenant.id, asked.value);
        return await screen(request, reply, { offer, form: formOfProfile(draft), review });
      }
      // A profile without a name can be previewed, too.
      const input = inputOf(act === 'preview' ? { ...form, name: text(form, 'name') || 'Draft' } : form);
      if (act === 'preview') {
        const preview = await previewProfile(deps, tenant.id, { ...input, limit: TRIED });
        return await screen(request, reply, { offer, form, preview });
      }
      const { id } = await createProfile(deps, tenant, input);
      return await reply.redirect(`/dashboard/profiles/${id}?done=created`, 303);
    } catch (error) {
      return screen(request, reply, { offer, form, faults: faultsOf(error), status: 400 });
    }
  });
}

function addOne(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  async function screen(request: FastifyRequest, reply: FastifyReply, id: string, shown = {}) {
    const { tenant } = memberOf(request);
    const now = deps.clock.now();
    const days = Array.from({ length: DAYS_SHOWN }, (_, i) => toIso(now - i * DAY_MS).slice(0, 10));
    const [profile, judged, suggestions, scores] = await Promise.all([
      findProfile(deps.store, tenant.id, id),
      deps.store.listJudgements(tenant.id, id, MAX_JUDGED),
      listSuggestions(deps, tenant.id, id),
      deps.store.countSignalsByScore(tenant.id, { profileId: id, days }),
    ]);
    return show(request, reply, {
      template: 'profile',
      weightLabels: WEIGHT_LABELS,
      memberLabel,
      title: profile.name,
      profile: icpResource(profile),
      form: formOfProfile(icpResource(profile)),
      quality: qualityOf(id, judged),
      precisionHtml: precisionChart(judged, now),
      scoresHtml: scoresChart(scores, icpResource(profile).thresholds),
      suggestions: newestOf(suggestions),
      effectOf,
      shareOf,
      signalTypes: SIGNAL_TYPE_WORDS,
      faults: {},
      preview: null,
      ...shown,
    });
  }
  app.get<{ Params: { id: string } }>('/profiles/:id', (request, reply) =>
    screen(request, reply, request.params.id),
  );
  app.post<{ Params: { id: string } }>('/profiles/:id', LARGE_FORM, async (request, reply) => {
    const { tenant } = memberOf(request);
    const { id } = request.params;
    const form = formOf(request);
    try {
      const patch = inputOf(form);
      if (text(form, 'act') === 'preview') {
        const tried = { ...patch, icp_profile_id: id, limit: TRIED };
        return await screen(request, reply, id, {
          form,
          preview: await previewProfile(deps, tenant.id, tried),
        });
      }
      await changeProfile(deps, tenant, { id, patch });
      return await reply.redirect(`/dashboard/profiles/${id}?done=saved`, 303);
    } catch (error) {
      return screen(request, reply, id, { form, faults: faultsOf(error), status: 400 });
    }
  });
}

function inputOf(form: Form): IcpInput {
  const checked = check(icpInputSchema, wishOf(form), 'body');
  if (!checked.ok) throw refusal(checked, 'body');
  return checked.value;
}

/** Empty if there were no signals in that time. */
function scoresChart(
  scores: readonly { score: number; count: number }[],
  { hot, warm }: { hot: number; warm: number },
): string {
  if (scores.length === 0) return '';
  const steps = Array.from({ length: 100 / SCORES }, (_, i) => i * SCORES);
  // The last bar includes a score of 100.
  const within = (from: number) =>
    scores
      .filter(({ score }) => Math.min(score, 100 - SCORES) === from)
      .reduce((sum, { count }) => sum + count, 0);
  return chartHtml({
    title: 'Scores',
    unit: `Signals of the last ${DAYS_SHOWN} days by score, with the present thresholds`,
    along: 'Score',
    labels: steps.map((from) => `${from}–${from === 100 - SCORES ? 100 : from + SCORES - 1}`),
    series: [{ name: 'Signals', look: 'one', values: steps.map(within) }],
    kind: 'bars',
    marks: [
      { name: `Warm from ${warm}`, at: warm / 100, look: 'warm' },
      { name: `Hot from ${hot}`, at: hot / 100, look: 'hot' },
    ],
  });
}

/** Empty if no signal shown in that time was rated. */
function precisionChart(judged: readonly Judgement[], now: number): string {
  const weeks = qualityByWeek(judged, { now, weeks: WEEKS_SHOWN });
  if (weeks.every((week) => week.judged === 0)) return '';
  return chartHtml({
    title: 'Precision by week',
    unit: 'Share of rated hot and warm signals that were relevant, with 95% interval; weeks start on Monday, UTC',
    along: 'Week from',
    labels: weeks.map(({ from }) => dayLabel(from)),
    series: [
      {
        name: 'Precision',
        look: 'one',
        values: weeks.map(({ precision }) => precision),
        between: weeks.map(({ interval }) => interval),
      },
    ],
    ...{ kind: 'ranges', most: 1, show: (share) => `${Math.round(share * 100)}%` },
  });
}

const LISTS = [
  'phrases',
  'excluded_phrases',
  'competitors',
  'industries',
  'titles',
  'headcount_ranges',
  'locations',
  'muted_authors',
  'muted_sources',
] as const;

/** Types of signals as a form labels them. */
export const SIGNAL_TYPE_WORDS: Record<SignalType, string> = {
  intent_post: 'Requests',
  qa_forum: 'Questions',
  review: 'Reviews',
  job_change: 'Job changes',
  funding_event: 'Funding rounds',
};

/** The editor's fields for a profile or a draft. */
export function formOfProfile(profile: Omit<IcpResource, 'id' | 'created_at' | 'updated_at'>): Form {
  const ranges = profile.headcount_ranges.map(({ min, max }) => (max === null ? `${min}+` : `${min}-${max}`));
  const form: Form = {
    name: profile.name,
    description: profile.description,
    offer: profile.offer,
    signal_types: profile.signal_types.length === 0 ? [...SIGNAL_TYPES] : profile.signal_types,
    hot: String(profile.thresholds.hot),
    warm: String(profile.thresholds.warm),
    active: profile.active ? 'on' : '',
  };
  for (const name of LISTS)
    form[name] = (name === 'headcount_ranges' ? ranges : (profile[name] ?? [])).join('\n');
  for (const name of WEIGHT_KEYS) form[`weight_${name}`] = String(profile.weights[name]);
  return form;
}

/** The editor's fields for a new profile. */
function emptyProfileForm(): Form {
  return { ...formOfProfile(icpResource(defaultProfile('', '', 0))), name: '', description: '', phrases: '' };
}

/** The editor's fields as a `/v1` body, not yet validated. */
export function wishOf(form: Form): unknown {
  const lists = Object.fromEntries(LISTS.map((name) => [name, lines(form, name)]));
  const weights = Object.fromEntries(
    WEIGHT_KEYS.map((name) => [name, number(form, `weight_${name}`) ?? undefined]),
  );
  const types = texts(form, 'signal_types');
  return {
    name: text(form, 'name'),
    description: text(form, 'description'),
    offer: text(form, 'offer'),
    // All types are stored as an empty list, so that types added later count, too.
    signal_types: types.length === SIGNAL_TYPES.length ? [] : types,
    ...lists,
    phrases: [...lines(form, 'phrases'), ...lines(form, 'more_phrases')],
    weights,
    thresholds: { hot: number(form, 'hot') ?? undefined, warm: number(form, 'warm') ?? undefined },
    active: ticked(form, 'active'),
  };
}

/** Open suggestions, and the newest of the decided ones; what was learned is not a decision. */
function newestOf(suggestions: readonly IcpSuggestion[]): IcpSuggestion[] {
  const isDecided = ({ kind, status }: IcpSuggestion) => kind !== 'learned_topic' && status !== 'open';
  const decided = suggestions.filter(isDecided);
  return [...suggestions.filter((each) => !isDecided(each)), ...decided.slice(-DECISIONS_SHOWN)];
}

const DONE = { accept: 'accepted', dismiss: 'dismissed', undo: 'undone' } as const;

/** Accepts, dismisses and reverts the changes suggested by feedback, on a profile's screen. */
function addProfileSuggestions(app: FastifyInstance, deps: DashboardDeps): void {
  app.post<{ Params: { id: string; suggestion: string } }>(
    '/profiles/:id/suggestions/:suggestion',
    async (request, reply) => {
      const { id: profileId, suggestion: id } = request.params;
      const { action } = checked(suggestionActionSchema, { action: text(formOf(request), 'action') });
      await decideSuggestion(deps, memberOf(request).tenant, { profileId, id, action });
      return reply.redirect(`/dashboard/profiles/${profileId}?done=${DONE[action]}#suggestions`, 303);
    },
  );
}

/** The effect that a suggestion would have had on the signals rated so far, in words. */
function effectOf({ status, effect: { shown_before: before, shown_after: after } }: IcpSuggestion): string {
  const of = (shown: typeof before) => `${shown.relevant} of ${shown.relevant + shown.not_relevant}`;
  if (status === 'open')
    return `Of the rated hot and warm signals, ${of(before)} are relevant now; with this change, ${of(after)}.`;
  const otherwise = status === 'accepted' ? 'with it,' : 'with it, it would have been';
  return `Of the hot and warm signals rated by then, ${of(before)} were relevant without this change; ${otherwise} ${of(after)}.`;
}

/** The editor's label for the member that a suggestion changes. */
function memberLabel(member: string): string {
  const weight = WEIGHT_KEYS.find((key) => member === `weights.${key}`);
  if (weight !== undefined) return `Weight of “${WEIGHT_LABELS[weight]}”`;
  if (member.startsWith('thresholds.')) return `${member === 'thresholds.hot' ? 'Hot' : 'Warm'} from`;
  const words = member.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** "83% precision, likely 61% to 94%"; null if nothing was rated. */
function shareOf({ precision, interval }: Share): string | null {
  if (precision === null || interval === null) return null;
  const percent = (value: number) => Math.round(value * 100);
  return `${percent(precision)}% precision, likely ${percent(interval.low)}% to ${percent(interval.high)}%`;
}
