import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { check } from '../http/faults.ts';
import { refusal } from '../http/validation.ts';
import { sourceInputSchema, sourceResource } from '../model/source.ts';
import { SECRET_NAMES, SETTINGS_OF, type SettingName, SOURCE_KINDS } from '../model/source-settings.ts';
import { changeSource, createSource, deleteSource, findSource, runSourceNow } from '../signals/sources.ts';
import { oneOf } from './filters.ts';
import { type Form, faultsOf, formOf, number, text, texts } from './forms.ts';
import { memberOf } from './gate.ts';
import { readScreenPage } from './paging.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';

const LABELS: Readonly<Record<SettingName, string>> = {
  url: 'Address',
  query: 'Words to search for',
  site: 'Site',
  tagged: 'Tags, up to five',
  board: 'Company, as its job board’s address names it',
  tag: 'Tag, without #',
  subreddit: 'Subreddit',
  client_id: 'Id of your app',
  client_secret: 'Secret of your app',
  token: 'Token, for a larger quota',
  key: 'Key, for a larger quota',
};

/** The fields of all kinds, each with the kinds that take it: without script, nobody can hide those of others. */
const FIELDS = (Object.keys(LABELS) as SettingName[]).map((name) => ({
  name,
  label: LABELS[name],
  kinds: SOURCE_KINDS.filter((kind) => SETTINGS_OF[kind].takes.includes(name)).join(', '),
  isSecret: SECRET_NAMES.some((secret) => secret === name),
}));

/** Where posts come from: health of each source, a new one, pause, resume and a run by hand. */
export function addSources(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  addList(app, parts, show);
  addNew(app, parts, show);
  addOne(app, parts, show);
}

function addList(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  app.get('/sources', async (request, reply) => {
    const { tenant } = memberOf(request);
    const { page, ...pages } = await readScreenPage(parts, request, {
      name: 'sources',
      filters: null,
      read: (place) => parts.store.pageSources(tenant.id, place),
    });
    return show(request, reply, {
      template: 'sources',
      title: 'Sources',
      ...pages,
      sources: page.rows.map(sourceResource),
    });
  });
}

function addNew(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  async function showForm(request: FastifyRequest, reply: FastifyReply, shown: Record<string, unknown> = {}) {
    const profiles = await parts.store.listProfiles(memberOf(request).tenant.id);
    const common = {
      template: 'source-new',
      title: 'New source',
      kinds: SOURCE_KINDS,
      fields: FIELDS,
      profiles,
    };
    return show(request, reply, { ...common, form: { kind: 'rss', interval: '15' }, faults: {}, ...shown });
  }
  app.get('/sources/new', (request, reply) => showForm(request, reply));
  app.post('/sources/new', async (request, reply) => {
    const form = formOf(request);
    try {
      const checked = check(sourceInputSchema, inputOf(form), 'body');
      if (!checked.ok) throw refusal(checked, 'body');
      const source = await createSource(parts, memberOf(request).tenant, checked.value);
      parts.sourcesChanged?.();
      return reply.redirect(`/dashboard/sources/${source.id}?done=created`, 303);
    } catch (error) {
      return showForm(request, reply, { form, faults: faultsOf(error), status: 400 });
    }
  });
}

/** Only what the kind takes is read: a form shows the fields of all kinds. */
function inputOf(form: Form): unknown {
  const kind = oneOf(form, 'kind', SOURCE_KINDS) ?? 'rss';
  const settings: Record<string, unknown> = {};
  for (const name of SETTINGS_OF[kind].takes) {
    const value = text(form, name).trim();
    if (value !== '') settings[name] = name === 'tagged' ? value.split(/[\s,]+/) : value;
  }
  const minutes = number(form, 'interval');
  return {
    kind,
    name: text(form, 'name'),
    ...settings,
    icp_profile_ids: texts(form, 'icp_profile_ids'),
    ...(typeof minutes === 'number' ? { interval_seconds: minutes * 60 } : {}),
  };
}

function addOne(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  app.get<{ Params: { id: string } }>('/sources/:id', async (request, reply) => {
    const { tenant } = memberOf(request);
    const source = sourceResource(await findSource(parts.store, tenant.id, request.params.id));
    const profiles = await parts.store.listProfiles(tenant.id);
    return show(request, reply, {
      template: 'source',
      title: source.name,
      source,
      profiles: profiles.filter(({ id }) => source.icp_profile_ids.includes(id)),
    });
  });
  for (const [act, active] of [
    ['pause', false],
    ['resume', true],
  ] as const) {
    app.post<{ Params: { id: string } }>(`/sources/:id/${act}`, async (request, reply) => {
      const { id } = request.params;
      await changeSource(parts, memberOf(request).tenant.id, { id, patch: { active } });
      parts.sourcesChanged?.();
      return reply.redirect(`/dashboard/sources/${id}?done=saved`, 303);
    });
  }
  app.post<{ Params: { id: string } }>('/sources/:id/run', async (request, reply) => {
    const { id } = request.params;
    await runSourceNow(parts, memberOf(request).tenant.id, id);
    parts.sourcesChanged?.();
    return reply.redirect(`/dashboard/sources/${id}?done=started`, 303);
  });
  app.post<{ Params: { id: string } }>('/sources/:id/delete', async (request, reply) => {
    await deleteSource(parts.store, memberOf(request).tenant.id, request.params.id);
    return reply.redirect('/dashboard/sources?done=deleted', 303);
  });
}
