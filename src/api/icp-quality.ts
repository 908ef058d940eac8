import { z } from 'zod';
import { icpQualitySchema, icpSuggestionSchema, suggestionActionSchema } from '../model/icp-quality.ts';
import { findProfile } from '../signals/profiles.ts';
import { qualityOf } from '../signals/quality.ts';
import { MAX_JUDGED } from '../signals/suggester.ts';
import { decideSuggestion, listSuggestions } from '../signals/suggestions.ts';
import type { Routes } from './routes.ts';

/** What feedback says of a profile, and what it suggests. */
export function addIcpQuality(icps: Routes): void {
  icps.get('/icps/:id/quality', {
    operationId: 'getIcpQuality',
    summary: 'How much of what a profile showed was right',
    description: `By the feedback on its signals, the ${MAX_JUDGED} newest that have any: in all and by class, with the interval that so few leave open.`,
    scope: 'icps:read',
    answer: icpQualitySchema,
    async handle({ parts: { store }, tenantId, params }) {
      const { id } = await findProfile(store, tenantId, params.id);
      return qualityOf(id, await store.listJudgements(tenantId, id, MAX_JUDGED));
    },
  });
  icps.get('/icps/:id/suggestions', {
    operationId: 'listIcpSuggestions',
    summary: 'Changes that the feedback suggests',
    description:
      'Each with what it would have done to the signals judged so far, counted from the scores and texts that they have. Those that were accepted or dismissed stay in the list, so that they can be undone.',
    scope: 'icps:read',
    answer: z.array(icpSuggestionSchema),
    handle: ({ parts, tenantId, params }) => listSuggestions(parts, tenantId, params.id),
  });
  icps.post('/icps/:id/suggestions/:suggestion', {
    operationId: 'decideIcpSuggestion',
    summary: 'Accept, dismiss or undo a suggestion',
    description:
      'Accepting changes the profile at once. Undoing takes that change back and leaves what else was changed since.',
    scope: 'icps:write',
    problems: ['CONFLICT', 'PLAN_REQUIRED'],
    body: suggestionActionSchema,
    answer: icpSuggestionSchema,
    handle: ({ parts, caller, params: { id: profileId, suggestion: id }, body: { action } }) =>
      decideSuggestion(parts, caller.tenant, { profileId, id, action }),
  });
}
