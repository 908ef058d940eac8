import { z } from 'zod';
import { icpInputSchema, icpPatchSchema, icpResource, icpSchema } from '../model/icp.ts';
import {
  draftInputSchema,
  draftReviewSchema,
  icpDraftSchema,
  icpQualitySchema,
  icpSuggestionSchema,
  MAX_PREVIEW_POSTS,
  previewInputSchema,
  previewSchema,
  suggestionActionSchema,
} from '../model/icp-draft.ts';
import { draftForSeller } from '../signals/draft.ts';
import { qualityOf } from '../signals/feedback.ts';
import {
  changeProfile,
  createProfile,
  deleteProfile,
  findProfile,
  previewProfile,
} from '../signals/profiles.ts';
import { decideSuggestion, listSuggestions, MAX_JUDGED } from '../signals/suggestions.ts';
import { addList } from './list.ts';
import type { Routes, RoutesOf } from './routes.ts';

/** `/v1/icps`: ideal customer profiles. */
export function addIcps(routesOf: RoutesOf): void {
  const icps = routesOf('Profiles');
  icps.create('/icps', {
    operationId: 'createIcp',
    summary: 'Create a profile',
    description:
      'New posts are matched with the profile from now on. Omitted lists are empty and match everything; weights and thresholds have defaults.',
    scope: 'icps:write',
    versioned: true,
    problems: ['CONFLICT', 'PLAN_REQUIRED'],
    body: icpInputSchema,
    answer: icpSchema,
    async handle({ deps, caller, body, tag }) {
      const profile = await createProfile(deps, caller.tenant, body);
      return tag(profile, icpResource(profile));
    },
  });
  addList(icps, '/icps', {
    operationId: 'listIcps',
    summary: 'List profiles',
    description: 'Oldest first.',
    scope: 'icps:read',
    item: icpSchema,
    read: ({ deps: { store }, tenantId }, place) => store.pageProfiles(tenantId, place),
    show: ({ rows }) => rows.map(icpResource),
  });
  addTrials(icps);
  addIcpQuality(icps);
  icps.get('/icps/:id', {
    operationId: 'getIcp',
    summary: 'Get a profile',
    scope: 'icps:read',
    versioned: true,
    answer: icpSchema,
    async handle({ deps, tenantId, params, tag }) {
      const profile = await findProfile(deps.store, tenantId, params.id);
      return tag(profile, icpResource(profile));
    },
  });
  icps.patch('/icps/:id', {
    operationId: 'updateIcp',
    summary: 'Update a profile',
    description:
      'Omitted members stay as they are, within weights and thresholds too; lists are replaced. Existing signals keep their score, ' +
      'classification and profile name.',
    scope: 'icps:write',
    versioned: true,
    problems: ['CONFLICT', 'PLAN_REQUIRED'],
    body: icpPatchSchema,
    answer: icpSchema,
    async handle({ deps, caller, params, body, when, tag }) {
      const profile = await changeProfile(deps, caller.tenant, { id: params.id, patch: body, when });
      return tag(profile, icpResource(profile));
    },
  });
  icps.remove('/icps/:id', {
    operationId: 'deleteIcp',
    summary: 'Delete a profile',
    description:
      'Its signals remain and can still be listed by its ID or name. The last profile cannot be deleted.',
    scope: 'icps:write',
    versioned: true,
    problems: ['CONFLICT'],
    gone: 'Deleted',
    handle: ({ deps, tenantId, params, when }) => deleteProfile(deps, tenantId, params.id, when),
  });
}

/** Preview and draft of a profile. They store nothing, so the read scope is sufficient. */
function addTrials(icps: Routes): void {
  icps.post('/icps/preview', {
    operationId: 'previewIcp',
    summary: 'Preview a profile',
    description: `Scores the newest posts, ${MAX_PREVIEW_POSTS} at most, with the given settings. Nothing is stored or delivered.`,
    scope: 'icps:read',
    problems: ['NOT_FOUND'],
    body: previewInputSchema,
    answer: previewSchema,
    handle: ({ deps, tenantId, body }) => previewProfile(deps, tenantId, body),
  });
  icps.add('POST /icps/draft', {
    operationId: 'draftIcp',
    summary: 'Draft a profile',
    description:
      'Suggests phrases, competitors and buyers for what you sell. `review` has the number of stored posts each phrase is found in, a ' +
      'question where the offer is ambiguous, and what is missing. An offer that names nothing to sell fails with 400. Nothing is ' +
      'stored: preview `data` with `POST /v1/icps/preview`, adjust it, and send it to `POST /v1/icps`.',
    scope: 'icps:read',
    body: draftInputSchema,
    response: {
      200: z.strictObject({ data: icpDraftSchema, review: draftReviewSchema }),
    },
    async answer({ deps, tenantId, body }) {
      const { draft, review } = await draftForSeller(deps, tenantId, body);
      return { data: draft, review };
    },
  });
}

/** Precision of a profile according to feedback, and suggested changes. */
function addIcpQuality(icps: Routes): void {
  icps.get('/icps/:id/quality', {
    operationId: 'getIcpQuality',
    summary: 'Get the precision of a profile',
    description: `Computed from the ${MAX_JUDGED} newest signals with feedback, overall and by classification, with a confidence interval.`,
    scope: 'icps:read',
    answer: icpQualitySchema,
    async handle({ deps: { store }, tenantId, params }) {
      const { id } = await findProfile(store, tenantId, params.id);
      return qualityOf(id, await store.listJudgements(tenantId, id, MAX_JUDGED));
    },
  });
  icps.get('/icps/:id/suggestions', {
    operationId: 'listIcpSuggestions',
    summary: 'List suggestions for a profile',
    description:
      'Changes that the feedback suggests, each with its effect on the signals with feedback so far. Accepted and dismissed suggestions ' +
      'stay in the list, so that they can be undone.',
    scope: 'icps:read',
    answer: z.array(icpSuggestionSchema),
    handle: ({ deps, tenantId, params }) => listSuggestions(deps, tenantId, params.id),
  });
  icps.post('/icps/:id/suggestions/:suggestion', {
    operationId: 'decideIcpSuggestion',
    summary: 'Accept, dismiss or undo a suggestion',
    description:
      'Accepting changes the profile immediately. Undoing reverts that change and keeps all later ones.',
    scope: 'icps:write',
    problems: ['CONFLICT', 'PLAN_REQUIRED'],
    body: suggestionActionSchema,
    answer: icpSuggestionSchema,
    handle: ({ deps, caller, params: { id: profileId, suggestion: id }, body: { action } }) =>
      decideSuggestion(deps, caller.tenant, { profileId, id, action }),
  });
}
