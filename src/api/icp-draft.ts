import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import type { Company } from '../model/company.ts';
import { draftInputSchema, icpDraftSchema } from '../model/icp-draft.ts';
import { draftFromOffer } from '../signals/draft.ts';
import type { ApiParts } from './parts.ts';

/** The name in force: what a person set counts before what was seen. */
function nameOf({ manual, observed }: Company['facts']): string {
  return manual.name?.value ?? observed.name?.value ?? '';
}

/** `POST /v1/icps/draft`: a profile from one line of what is sold. */
export function addIcpDraft(app: FastifyInstance, { store }: Pick<ApiParts, 'store'>): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/icps/draft',
    {
      // Nothing is changed by it, so that reading is enough.
      config: { scope: 'icps:read' },
      schema: {
        operationId: 'draftIcp',
        summary: 'Draft a profile from an offer',
        description:
          'From what is sold, in a sentence: the phrases people use who want it, whom they compare, who buys. Nothing is stored: look at it with `POST /v1/icps/preview`, change it, and send it to `POST /v1/icps`.',
        tags: ['Profiles'],
        querystring: z.strictObject({}),
        body: draftInputSchema,
        response: { 200: z.strictObject({ data: icpDraftSchema }) },
      },
    },
    async (request) => {
      const { offer, domain } = request.body;
      const company =
        domain === undefined ? null : await store.findCompany(callerOf(request).tenant.id, { domain });
      return { data: draftFromOffer(offer, company === null ? null : { name: nameOf(company.facts) }) };
    },
  );
}
