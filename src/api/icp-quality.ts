import { z } from 'zod';
import { icpQualitySchema, icpSuggestionSchema, suggestionActionSchema } from '../model/icp-quality.ts';
import { findProfile } from '../signals/profiles.ts';
import { qualityOf } from '../signals/quality.ts';
import { MAX_JUDGED } from '../signals/suggester.ts';
import { decideSuggestion, listSuggestions } from '../signals/suggestions.ts';
import type { Routes } from './routes.ts';

/** Precision of a profile by the feedback on its signals, and the changes it suggests. */
export function addIcpQuality(icps: Routes): void {
  icps.get('/icps/:id/quality', {
    operationId: 'getIcpQuality',
    summary: 'Get the precision of a profile',
    description: `Computed from the ${MAX_JUDGED} newest signals with feedback, overall and by classification, with a confidence interval.`,
    scope: 'icps:read',
    answer: icpQualitySchema,
    async handle({ parts: { store }, tenantId, params }) {
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
    handle: ({ parts, tenantId, params }) => listSuggestions(parts, tenantId, params.id),
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
    handle: ({ parts, caller, params: { id: profileId, suggestion: id }, body: { action } }) =>
      decideSuggestion(parts, caller.tenant, { profileId, id, action }),
  });
}
