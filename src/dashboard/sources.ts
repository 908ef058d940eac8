import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { toIso } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import { type IcpProfile, icpResource } from '../model/icp.ts';
import {
  type EndedRun,
  SOURCE_KINDS,
  sourceInputSchema,
  sourcePatchSchema,
  sourceResource,
  sourceRunResource,
} from '../model/source.ts';
import { NEEDS_OWN_APP, type Place, placeNamed, proposePlaces } from '../signals/places.ts';
import {
  changeSource,
  createSource,
  deleteSource,
  findSource,
  runSourceNow,
  type SourcePreview,
} from '../signals/source-management.ts';
import { funnelHtml, stripHtml } from './charts.ts';
import type { DashboardDeps } from './deps.ts';
import {
  type Form,
  type FormFaults,
  faultsOf,
  formOf,
  LARGE_FORM,
  oneOf,
  queryOf,
  text,
  texts,
} from './forms.ts';
import { checked, memberOf } from './gate.ts';
import { readScreenPage } from './paging.ts';
import type { Show } from './screens.ts';
import {
  fieldsOf,
  formOfSource,
  guessSource,
  kindWords,
  newSourceOf,
  SOURCE_FIELDS,
  sourcePatchOf,
} from './source-form.ts';

const RUNS_SHOWN = 10;
const RUNS_IN_STRIP = 24;
const EMPTY_FORM: Form = { kind: 'rss', interval: '15', max_age_days: '7' };

/** Sources: their health, adding one, pause, resume and manual runs. */
export function addSources(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  addList(app, deps, show);
  addNew(app, deps, show);
  addSourceSuggestions(app, deps, show);
  addOne(app, deps, show);
  addEdit(app, deps, show);
}

function addList(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  app.get('/sources', async (request, reply) => {
    const { tenant } = memberOf(request);
    const { page, ...pages } = await readScreenPage(deps, request, {
      name: 'sources',
      filters: null,
      read: (place) => deps.store.pageSources(tenant.id, place),
    });
    const strips = await Promise.all(
      page.rows.map(async ({ id }) => {
        const { rows } = await deps.store.pageSourceRuns(id, { after: null, limit: RUNS_IN_STRIP });
        return stripOf(rows);
      }),
    );
    return show(request, reply, {
      template: 'sources',
      title: 'Sources',
      kindWords,
      ...pages,
      strips,
      sources: page.rows.map(sourceResource),
    });
  });
}

function addNew(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  async function showForm(request: FastifyRequest, reply: FastifyReply, shown: Record<string, unknown> = {}) {
    const profiles = await deps.store.listProfiles(memberOf(request).tenant.id);
    const common = {
      template: 'source-new',
      title: 'New source',
      kinds: SOURCE_KINDS,
      kindWords,
      fields: SOURCE_FIELDS,
      profiles,
      place: '',
      guess: null,
    };
    return show(request, reply, { ...common, form: EMPTY_FORM, faults: {}, ...shown });
  }
  /** The form filled in from an address or a subject, and for the profile of the suggestion. */
  function showGuess(request: FastifyRequest, reply: FastifyReply, asked: Form) {
    const place = text(asked, 'place').trim().slice(0, 2_048);
    if (place === '') return showForm(request, reply);
    const guess = guessSource(place);
    // If the place cannot be read, the form stays empty: adding it would fail.
    const filled = guess.refusal === null ? guess.form : {};
    const form = { ...EMPTY_FORM, ...filled, icp_profile_ids: texts(asked, 'icp') };
    return showForm(request, reply, { place, guess, form });
  }
  app.get('/sources/new', { config: { onlyToChange: true } }, (request, reply) =>
    showGuess(request, reply, queryOf(request)),
  );
  app.post('/sources/new', LARGE_FORM, async (request, reply) => {
    const form = formOf(request);
    if (text(form, 'act') === 'guess') return showGuess(request, reply, form);
    try {
      const kind = oneOf(form, 'kind', SOURCE_KINDS) ?? 'rss';
      const input = checked(sourceInputSchema, newSourceOf(form, kind));
      const source = await createSource(deps, memberOf(request).tenant, input);
      return reply.redirect(`/dashboard/sources/${source.id}?done=created`, 303);
    } catch (error) {
      return showForm(request, reply, { form, faults: faultsOf(error), status: 400 });
    }
  });
}

function addOne(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  app.get<{ Params: { id: string } }>('/sources/:id', async (request, reply) => {
    const { tenant } = memberOf(request);
    const source = sourceResource(await findSource(deps.store, tenant.id, request.params.id));
    const [profiles, runs] = await Promise.all([
      deps.store.listProfiles(tenant.id),
      deps.store.pageSourceRuns(source.id, { limit: RUNS_IN_STRIP, after: null }),
    ]);
    return show(request, reply, {
      template: 'source',
      title: source.name,
      kindWords,
      source,
      runs: runs.rows.slice(0, RUNS_SHOWN).map(sourceRunResource),
      strip: stripOf(runs.rows),
      funnel: funnelHtml('From posts read to relevant signals', [
        { name: 'Posts read', count: source.items_seen },
        { name: 'Matched a profile', count: source.items_matched },
        { name: 'Rated relevant', count: source.items_relevant },
      ]),
      profiles: profiles.filter(({ id }) => source.icp_profile_ids.includes(id)),
    });
  });
  for (const [act, active] of [
    ['pause', false],
    ['resume', true],
  ] as const) {
    app.post<{ Params: { id: string } }>(`/sources/:id/${act}`, async (request, reply) => {
      const { id } = request.params;
      await changeSource(deps, memberOf(request).tenant.id, { id, patch: { active } });
      return reply.redirect(`/dashboard/sources/${id}?done=saved`, 303);
    });
  }
  app.post<{ Params: { id: string } }>('/sources/:id/run', async (request, reply) => {
    const { id } = request.params;
    await runSourceNow(deps, memberOf(request).tenant.id, id);
    return reply.redirect(`/dashboard/sources/${id}?done=started`, 303);
  });
  app.post<{ Params: { id: string } }>('/sources/:id/delete', async (request, reply) => {
    await deleteSource(deps.store, memberOf(request).tenant.id, request.params.id);
    return reply.redirect('/dashboard/sources?done=deleted', 303);
  });
}

function addEdit(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  const path = '/sources/:id/edit';
  async function screen(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    shown: { form?: Form; faults?: FormFaults; status?: number } = {},
  ) {
    const { tenant } = memberOf(request);
    const source = sourceResource(await findSource(deps.store, tenant.id, id));
    return show(request, reply, {
      template: 'source-edit',
      title: `Edit ${source.name}`,
      source,
      kindWords,
      fields: fieldsOf(source.kind),
      profiles: await deps.store.listProfiles(tenant.id),
      form: formOfSource(source),
      faults: {},
      ...shown,
    });
  }
  app.get<{ Params: { id: string } }>(path, { config: { onlyToChange: true } }, (request, reply) =>
    screen(request, reply, request.params.id),
  );
  app.post<{ Params: { id: string } }>(path, LARGE_FORM, async (request, reply) => {
    const { id } = request.params;
    const { tenant } = memberOf(request);
    const { kind } = await findSource(deps.store, tenant.id, id);
    const form = formOf(request);
    try {
      await changeSource(deps, tenant.id, {
        id,
        patch: checked(sourcePatchSchema, sourcePatchOf(form, kind)),
      });
    } catch (error) {
      return screen(request, reply, id, { form, faults: faultsOf(error), status: 400 });
    }
    return reply.redirect(`/dashboard/sources/${id}?done=saved`, 303);
  });
}

/** The last runs, oldest first, as a strip. */
function stripOf(newestFirst: readonly EndedRun[]): string {
  if (newestFirst.length === 0) return '';
  const failed = newestFirst.filter(({ error }) => error !== null).length;
  const missing = Math.max(0, RUNS_IN_STRIP - newestFirst.length);
  const none = Array.from({ length: missing }, () => ({ look: 'none' as const, title: 'No run yet' }));
  const marks = [...newestFirst].reverse().map(({ error, endedAt, itemsSeen }) => ({
    look: error === null ? ('good' as const) : ('bad' as const),
    title: `${toIso(endedAt).slice(0, 16).replace('T', ' ')} UTC: ${error === null ? `${itemsSeen} read` : error.message}`,
  }));
  const runs = newestFirst.length === 1 ? 'The last run' : `The last ${newestFirst.length} runs`;
  return stripHtml(`${runs}: ${failed} failed`, [...none, ...marks]);
}

const PROPOSED = 6;
/** The maximum number of existing sources that suggestions are compared with. */
const MOST_SOURCES = 200;
const PATH = '/sources/suggested';

/** Places that fit a profile, each with a preview of its last 24 hours, and a button that adds it as a source. */
function addSourceSuggestions(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  async function screen(
    request: FastifyRequest,
    reply: FastifyReply,
    { asked, ...shown }: { asked: string; [shown: string]: unknown },
  ) {
    const { tenant } = memberOf(request);
    const profiles = (await deps.store.listProfiles(tenant.id)).filter(({ active }) => active);
    const profile = chosenOf(profiles, asked);
    const sources = await deps.store.pageSources(tenant.id, { limit: MOST_SOURCES, after: null });
    const places =
      profile === null
        ? []
        : await proposePlaces(profile, {
            encoder: deps.encoder ?? null,
            sources: sources.rows,
            count: PROPOSED,
          });
    return show(request, reply, {
      template: 'source-suggestions',
      title: 'Suggested sources',
      profile: profile && icpResource(profile),
      profiles: profiles.map(icpResource),
      places: places.map(shownPlace),
      mayPreview: deps.previewSource !== undefined,
      hasSources: sources.rows.length > 0,
      previewed: null,
      preview: null,
      fault: null,
      ...shown,
    });
  }

  app.get(PATH, (request, reply) => screen(request, reply, { asked: text(queryOf(request), 'icp') }));
  app.post(PATH, async (request, reply) => {
    const { tenant } = memberOf(request);
    const form = formOf(request);
    const asked = text(form, 'icp');
    const { profile, place } = await wishOf(deps, tenant.id, form);
    if (text(form, 'act') === 'preview') {
      const preview: SourcePreview = (await deps.previewSource?.(tenant.id, profile.id, place)) ?? {
        fault: 'This server does not read sources.',
      };
      return screen(request, reply, { asked, previewed: place.name, preview });
    }
    try {
      const { kind, name, settings } = place;
      const given = Object.entries(settings).filter(([, value]) => value !== null);
      const wish = { kind, name, ...Object.fromEntries(given), icp_profile_ids: [profile.id] };
      await createSource(deps, tenant, checked(sourceInputSchema, wish));
    } catch (error) {
      const fault = Object.values(faultsOf(error)).join(' ');
      return screen(request, reply, { asked, fault, status: 400 });
    }
    const back = new URLSearchParams({ icp: profile.id, done: 'source-added' });
    return reply.redirect(`/dashboard${PATH}?${back}`, 303);
  });
}

/** The requested profile; otherwise the first one that states what is sold. */
function chosenOf(profiles: readonly IcpProfile[], asked: string): IcpProfile | null {
  const named = profiles.find(({ id }) => id === asked);
  return named ?? profiles.find(({ offer }) => offer !== '') ?? profiles[0] ?? null;
}

async function wishOf(
  { store }: DashboardDeps,
  tenantId: string,
  form: Form,
): Promise<{ profile: IcpProfile; place: Place }> {
  const profile = (await store.listProfiles(tenantId)).find(({ id }) => id === text(form, 'icp'));
  const place = profile === undefined ? null : placeNamed(text(form, 'place'), profile);
  if (profile === undefined || place === null || NEEDS_OWN_APP.includes(place.kind)) {
    throw new DomainError('NOT_FOUND', 'This suggestion is no longer available.', {
      hint: 'Reload the suggested sources.',
    });
  }
  return { profile, place };
}

function shownPlace(place: Place) {
  const { url, query, site, tagged, tag } = place.settings;
  const asks = tagged?.join(', ') ?? tag ?? query;
  return {
    name: place.name,
    about: place.about,
    kind: kindWords(place.kind),
    where: url ?? site ?? '',
    asks: asks ?? '',
    needsApp: NEEDS_OWN_APP.includes(place.kind),
    // Read live as posts are published: it has no last 24 hours to preview.
    isLive: place.kind === 'bluesky',
  };
}
