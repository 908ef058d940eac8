import {
  sourceInputSchema,
  sourcePatchSchema,
  sourceResource,
  sourceRunResource,
  sourceRunSchema,
  sourceSchema,
} from '../model/source.ts';
import { changeSource, createSource, deleteSource, findSource, runSourceNow } from '../signals/sources.ts';
import { addList } from './list.ts';
import type { Routes, RoutesOf } from './routes.ts';

/** `/v1/sources`: where posts are detected. */
export function addSources(routesOf: RoutesOf): void {
  const sources = routesOf('Sources');
  sources.create('/sources', {
    operationId: 'createSource',
    summary: 'Create a source',
    description: [
      'Its posts are matched with the profiles it names, or with all that are active; a post that matches none makes no',
      'signal. It is read at once, and then every `interval_seconds`. Each kind takes its own settings: `rss` a `url`;',
      '`hackernews` and `hackernews_hiring` a `query`; `stackexchange` a `site` with `tagged`, `query` or both, and a `key`;',
      'job boards a `board`; `sec_form_d` a `query` or nothing; `discourse` and `lemmy` a `url`, with a `query` or without;',
      '`mastodon` a `url` and a `tag`; `lobsters` a `tag` or nothing; `github` a `query`, and a `token`; `bluesky` a `query`;',
      '`reddit` a `subreddit`, `client_id` and `client_secret`, with a `query` or without. What is asked must be on the public',
      'internet. The robots.txt of a feed is obeyed: one that it keeps from programs is refused here, with what there is instead.',
    ].join(' '),
    scope: 'sources:write',
    versioned: true,
    problems: ['CONFLICT', 'PLAN_REQUIRED'],
    body: sourceInputSchema,
    answer: sourceSchema,
    async handle({ parts, caller, body, tag }) {
      const source = await createSource(parts, caller.tenant, body);
      parts.sourcesChanged?.();
      return tag(source, sourceResource(source));
    },
  });
  addList(sources, '/sources', {
    operationId: 'listSources',
    summary: 'Sources, oldest first',
    scope: 'sources:read',
    item: sourceSchema,
    read: ({ parts: { store }, tenantId }, place) => store.pageSources(tenantId, place),
    show: ({ rows }) => rows.map(sourceResource),
  });
  sources.get('/sources/:id', {
    operationId: 'getSource',
    summary: 'One source, and how it is doing',
    scope: 'sources:read',
    versioned: true,
    answer: sourceSchema,
    async handle({ parts, tenantId, params, tag }) {
      const source = await findSource(parts.store, tenantId, params.id);
      return tag(source, sourceResource(source));
    },
  });
  sources.patch('/sources/:id', {
    operationId: 'updateSource',
    summary: 'Change a source',
    description:
      'What is left out stays as it is; the kind cannot be changed. With another `url`, `query` or whatever else its kind reads by, it is read from the start, at once.',
    scope: 'sources:write',
    versioned: true,
    problems: ['CONFLICT'],
    body: sourcePatchSchema,
    answer: sourceSchema,
    async handle({ parts, tenantId, params, body, when, tag }) {
      const source = await changeSource(parts, tenantId, { id: params.id, patch: body, when });
      parts.sourcesChanged?.();
      return tag(source, sourceResource(source));
    },
  });
  sources.remove('/sources/:id', {
    operationId: 'deleteSource',
    summary: 'Delete a source',
    description: 'The signals it made stay.',
    scope: 'sources:write',
    versioned: true,
    gone: 'Deleted',
    handle: ({ parts, tenantId, params, when }) => deleteSource(parts.store, tenantId, params.id, when),
  });
  addRest(sources, 'pause');
  addRest(sources, 'resume');
  sources.post('/sources/:id/run', {
    operationId: 'runSource',
    summary: 'Read a source now',
    description: [
      'Makes it due at once and answers without waiting for the run; `last_run_at` tells when it ended. Where the source',
      'asked to be left alone for a while (`Retry-After`), it is read as soon as that is over: see `next_poll_at`.',
    ].join(' '),
    scope: 'sources:write',
    versioned: true,
    problems: ['CONFLICT'],
    answer: sourceSchema,
    statuses: { 202: null },
    async handle({ parts, tenantId, params, reply, tag }) {
      const source = await runSourceNow(parts, tenantId, params.id);
      parts.sourcesChanged?.();
      reply.code(202);
      return tag(source, sourceResource(source));
    },
  });
  addList(sources, '/sources/:id/runs', {
    operationId: 'listSourceRuns',
    summary: 'Runs of a source, newest first',
    description:
      'The last 100 are kept. A run that was put off, as the site wants time between two requests, is none.',
    scope: 'sources:read',
    item: sourceRunSchema,
    name: 'source-runs',
    filters: async ({ parts, tenantId, params }) => ({
      id: (await findSource(parts.store, tenantId, params.id)).id,
    }),
    read: ({ parts: { store } }, { id, ...place }) => store.pageSourceRuns(id, place),
    show: ({ rows }) => rows.map(sourceRunResource),
  });
}

const RESTS = {
  pause: {
    operationId: 'pauseSource',
    summary: 'Pause a source',
    description: 'It is not read any more; its position stays. One that is paused stays so.',
  },
  resume: {
    operationId: 'resumeSource',
    summary: 'Resume a source',
    description: 'It goes on where it was, at once. One that is active stays as it is.',
  },
} as const;

function addRest(sources: Routes, action: keyof typeof RESTS): void {
  sources.post(`/sources/:id/${action}`, {
    ...RESTS[action],
    scope: 'sources:write',
    versioned: true,
    answer: sourceSchema,
    async handle({ parts, tenantId, params, tag }) {
      const change = { id: params.id, patch: { active: action === 'resume' } };
      const source = await changeSource(parts, tenantId, change);
      parts.sourcesChanged?.();
      return tag(source, sourceResource(source));
    },
  });
}
