import { z } from 'zod';
import { icpInputSchema, icpPatchSchema, icpResource, icpSchema } from '../model/icp.ts';
import { draftInputSchema, draftReviewSchema, icpDraftSchema } from '../model/icp-draft.ts';
import { MAX_PREVIEW_POSTS, previewInputSchema, previewSchema } from '../model/icp-preview.ts';
import { previewProfile } from '../signals/preview.ts';
import { changeProfile, createProfile, deleteProfile, findProfile } from '../signals/profiles.ts';
import { draftForSeller } from '../signals/seller.ts';
import { addIcpQuality } from './icp-quality.ts';
import { addList } from './list.ts';
import type { Routes, RoutesOf } from './routes.ts';

/** `/v1/icps`: ideal customer profiles. */
export function addIcps(routesOf: RoutesOf): void {
  const icps = routesOf('Profiles');
  icps.create('/icps', {
    operationId: 'createIcp',
    summary: 'Create a profile',
    description:
      'Settings that are left out ask nothing, and weights and thresholds have their defaults. New posts are matched with it from now on.',
    scope: 'icps:write',
    versioned: true,
    problems: ['CONFLICT', 'PLAN_REQUIRED'],
    body: icpInputSchema,
    answer: icpSchema,
    async handle({ parts, caller, body, tag }) {
      const profile = await createProfile(parts, caller.tenant, body);
      return tag(profile, icpResource(profile));
    },
  });
  addList(icps, '/icps', {
    operationId: 'listIcps',
    summary: 'Profiles, oldest first',
    scope: 'icps:read',
    item: icpSchema,
    read: ({ parts: { store }, tenantId }, place) => store.pageProfiles(tenantId, place),
    show: ({ rows }) => rows.map(icpResource),
  });
  addTrials(icps);
  addIcpQuality(icps);
  icps.get('/icps/:id', {
    operationId: 'getIcp',
    summary: 'One profile',
    scope: 'icps:read',
    versioned: true,
    answer: icpSchema,
    async handle({ parts, tenantId, params, tag }) {
      const profile = await findProfile(parts.store, tenantId, params.id);
      return tag(profile, icpResource(profile));
    },
  });
  icps.patch('/icps/:id', {
    operationId: 'updateIcp',
    summary: 'Change a profile',
    description:
      'What is left out stays as it is, single weights and thresholds too; lists are replaced whole. Signals that are there keep the score, class and profile name they got.',
    scope: 'icps:write',
    versioned: true,
    problems: ['CONFLICT', 'PLAN_REQUIRED'],
    body: icpPatchSchema,
    answer: icpSchema,
    async handle({ parts, caller, params, body, when, tag }) {
      const profile = await changeProfile(parts, caller.tenant, { id: params.id, patch: body, when });
      return tag(profile, icpResource(profile));
    },
  });
  icps.remove('/icps/:id', {
    operationId: 'deleteIcp',
    summary: 'Delete a profile',
    description:
      'Its signals stay, and can still be listed by its id or name. The last profile cannot be deleted.',
    scope: 'icps:write',
    versioned: true,
    problems: ['CONFLICT'],
    gone: 'Deleted',
    handle: ({ parts, tenantId, params, when }) => deleteProfile(parts, tenantId, params.id, when),
  });
}

/** What is tried before it is stored. Nothing is changed by it, so that reading is enough. */
function addTrials(icps: Routes): void {
  icps.post('/icps/preview', {
    operationId: 'previewIcp',
    summary: 'Score stored posts with a draft',
    description: `Takes the settings of a profile and tries them on the newest posts, ${MAX_PREVIEW_POSTS} at most. Nothing is stored and nobody is told.`,
    scope: 'icps:read',
    problems: ['NOT_FOUND'],
    body: previewInputSchema,
    answer: previewSchema,
    handle: ({ parts, tenantId, body }) => previewProfile(parts, tenantId, body),
  });
  icps.add('POST /icps/draft', {
    operationId: 'draftIcp',
    summary: 'Draft a profile from an offer',
    description:
      'From what is sold, in a sentence: the phrases that people who want it use, competitors, and who buys. `review` says how many stored posts each phrase is found in, asks back where the offer can be read in two ways, and names what is missing. A line that names nothing to sell is 400. Nothing is stored: try `data` with `POST /v1/icps/preview`, change it, and send it to `POST /v1/icps`.',
    scope: 'icps:read',
    body: draftInputSchema,
    response: { 200: z.strictObject({ data: icpDraftSchema, review: draftReviewSchema }) },
    async answer({ parts, tenantId, body }) {
      const { draft, review } = await draftForSeller(parts, tenantId, body);
      return { data: draft, review };
    },
  });
}
