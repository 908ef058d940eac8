import {
  sourceInputSchema,
  sourcePatchSchema,
  sourceResource,
  sourceRunResource,
  sourceRunSchema,
  sourceSchema,
} from '../model/source.ts';
import {
  changeSource,
  createSource,
  deleteSource,
  findSource,
  runSourceNow,
} from '../signals/source-management.ts';
import { addList } from './list.ts';
import type { Routes, RoutesOf } from './routes.ts';

/** `/v1/sources`: where posts are read from. */
export function addSources(routesOf: RoutesOf): void {
  const sources = routesOf('Sources');
  sources.create('/sources', {
    operationId: 'createSource',
    summary: 'Create a source',
    description: [
      'The source is read immediately, and then every `interval_seconds`. Its posts are matched with the given profiles, or with all',
      'active ones; a post that matches none creates no signal. Each kind has its own settings: `rss` a `url`;',
      '`hackernews` and `hackernews_hiring` a `query`; `stackexchange` a `site` with `tagged`, `query` or both, and a `key`;',
      'job boards a `board`; `sec_form_d` a `query` or nothing; `discourse` and `lemmy` a `url`, with a `query` or without;',
      '`mastodon` a `url` and a `tag`; `lobsters` a `tag` or nothing; `github` a `query`, and a `token`; `bluesky` a `query`;',
      '`reddit` a `subreddit`, `client_id` and `client_secret`, with a `query` or without. The source must be on the public internet.',
      'robots.txt is respected: a feed that it disallows is refused, with a suggestion for an alternative.',
    ].join(' '),
    scope: 'sources:write',
    versioned: true,
    problems: ['CONFLICT', 'PLAN_REQUIRED'],
    body: sourceInputSchema,
    answer: sourceSchema,
    async handle({ deps, caller, body, tag }) {
      const source = await createSource(deps, caller.tenant, body);
      return tag(source, sourceResource(source));
    },
  });
  addList(sources, '/sources', {
    operationId: 'listSources',
    summary: 'List sources',
    description: 'Oldest first.',
    scope: 'sources:read',
    item: sourceSchema,
    read: ({ deps: { store }, tenantId }, place) => store.pageSources(tenantId, place),
    show: ({ rows }) => rows.map(sourceResource),
  });
  sources.get('/sources/:id', {
    operationId: 'getSource',
    summary: 'Get a source',
    description: 'Returns the source with its status, last error and counts.',
    scope: 'sources:read',
    versioned: true,
    answer: sourceSchema,
    async handle({ deps, tenantId, params, tag }) {
      const source = await findSource(deps.store, tenantId, params.id);
      return tag(source, sourceResource(source));
    },
  });
  sources.patch('/sources/:id', {
    operationId: 'updateSource',
    summary: 'Update a source',
    description:
      'Omitted members stay as they are; the kind cannot be changed. If a setting changes what is read, such as `url` or `query`, the ' +
      'source is read from the beginning, immediately.',
    scope: 'sources:write',
    versioned: true,
    problems: ['CONFLICT'],
    body: sourcePatchSchema,
    answer: sourceSchema,
    async handle({ deps, tenantId, params, body, when, tag }) {
      const source = await changeSource(deps, tenantId, { id: params.id, patch: body, when });
      return tag(source, sourceResource(source));
    },
  });
  sources.remove('/sources/:id', {
    operationId: 'deleteSource',
    summary: 'Delete a source',
    description: 'Its signals remain.',
    scope: 'sources:write',
    versioned: true,
    gone: 'Deleted',
    handle: ({ deps, tenantId, params, when }) => deleteSource(deps.store, tenantId, params.id, when),
  });
  addRest(sources, 'pause');
  addRest(sources, 'resume');
  sources.post('/sources/:id/run', {
    operationId: 'runSource',
    summary: 'Read a source now',
    description: [
      'Starts a run and returns without waiting for it; `last_run_at` is updated when it ends. If the site requested a pause',
      '(`Retry-After`), the source is read when it is over: see `next_poll_at`.',
    ].join(' '),
    scope: 'sources:write',
    versioned: true,
    problems: ['CONFLICT'],
    answer: sourceSchema,
    statuses: { 202: null },
    async handle({ deps, tenantId, params, reply, tag }) {
      const source = await runSourceNow(deps, tenantId, params.id);
      reply.code(202);
      return tag(source, sourceResource(source));
    },
  });
  addList(sources, '/sources/:id/runs', {
    operationId: 'listSourceRuns',
    summary: 'List runs of a source',
    description:
      'Newest first. The last 100 runs are kept. A run that is postponed because the site wants time between two requests is not listed.',
    scope: 'sources:read',
    item: sourceRunSchema,
    name: 'source-runs',
    filters: async ({ deps, tenantId, params }) => ({
      id: (await findSource(deps.store, tenantId, params.id)).id,
    }),
    read: ({ deps: { store } }, { id, ...place }) => store.pageSourceRuns(id, place),
    show: ({ rows }) => rows.map(sourceRunResource),
  });
}

const RESTS = {
  pause: {
    operationId: 'pauseSource',
    summary: 'Pause a source',
    description:
      'The source is not read until it is resumed, and keeps its position. Pausing a paused source changes nothing.',
  },
  resume: {
    operationId: 'resumeSource',
    summary: 'Resume a source',
    description:
      'The source is read immediately, from its position. Resuming an active source changes nothing.',
  },
} as const;

function addRest(sources: Routes, action: keyof typeof RESTS): void {
  sources.post(`/sources/:id/${action}`, {
    ...RESTS[action],
    scope: 'sources:write',
    versioned: true,
    answer: sourceSchema,
    async handle({ deps, tenantId, params, tag }) {
      const change = { id: params.id, patch: { active: action === 'resume' } };
      const source = await changeSource(deps, tenantId, change);
      return tag(source, sourceResource(source));
    },
  });
}
