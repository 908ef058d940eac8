import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { runParts } from '../http/idempotency.ts';
import { pathId } from '../http/path.ts';
import { icpQualitySchema, icpSuggestionSchema, suggestionActionSchema } from '../model/icp-quality.ts';
import { findProfile } from '../signals/profiles.ts';
import { qualityOf } from '../signals/quality.ts';
import { decideSuggestion, listSuggestions, MAX_JUDGED } from '../signals/suggestions.ts';
import type { ApiParts } from './parts.ts';

type QualityParts = Pick<ApiParts, 'store' | 'clock' | 'newId' | 'seededRandom'>;

const noQuery = z.strictObject({});
const idParams = z.strictObject({ id: pathId });

/** What feedback says of a profile, and what it suggests. */
export function addIcpQuality(app: FastifyInstance, parts: QualityParts): void {
  const { store } = parts;
  app.withTypeProvider<ZodTypeProvider>().get(
    '/icps/:id/quality',
    {
      config: { scope: 'icps:read' },
      schema: {
        operationId: 'getIcpQuality',
        summary: 'How much of what a profile showed was right',
        description: `By the feedback on its signals, the ${MAX_JUDGED} newest that have any: in all and by class, with the interval that so few leave open.`,
        tags: ['Profiles'],
        params: idParams,
        querystring: noQuery,
        response: { 200: z.strictObject({ data: icpQualitySchema }) },
      },
    },
    async (request) => {
      const tenantId = callerOf(request).tenant.id;
      const { id } = await findProfile(store, tenantId, request.params.id);
      return { data: qualityOf(id, await store.listJudgedPosts(tenantId, id, MAX_JUDGED)) };
    },
  );
  app.withTypeProvider<ZodTypeProvider>().get(
    '/icps/:id/suggestions',
    {
      config: { scope: 'icps:read' },
      schema: {
        operationId: 'listIcpSuggestions',
        summary: 'Changes that the feedback suggests',
        description:
          'Each with what it would have done to the signals judged so far, counted from the scores and texts that they have. Those that were accepted or dismissed stay in the list, so that they can be undone.',
        tags: ['Profiles'],
        params: idParams,
        querystring: noQuery,
        response: { 200: z.strictObject({ data: z.array(icpSuggestionSchema) }) },
      },
    },
    async (request) => ({
      data: await listSuggestions(parts, callerOf(request).tenant.id, request.params.id),
    }),
  );
  app.withTypeProvider<ZodTypeProvider>().post(
    '/icps/:id/suggestions/:suggestion',
    {
      config: { scope: 'icps:write', problems: ['CONFLICT', 'PLAN_REQUIRED'] },
      schema: {
        operationId: 'decideIcpSuggestion',
        summary: 'Accept, dismiss or undo a suggestion',
        description:
          'Accepting changes the profile at once. Undoing takes that change back and leaves what else was changed since.',
        tags: ['Profiles'],
        params: z.strictObject({ id: pathId, suggestion: pathId }),
        querystring: noQuery,
        body: suggestionActionSchema,
        response: { 200: z.strictObject({ data: icpSuggestionSchema }) },
      },
    },
    async (request) => {
      const { id: profileId, suggestion: id } = request.params;
      const { action } = request.body;
      const { tenant } = callerOf(request);
      return { data: await decideSuggestion(runParts(request, parts), tenant, { profileId, id, action }) };
    },
  );
}
