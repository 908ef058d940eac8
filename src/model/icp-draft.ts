import { z } from 'zod';
import { domainSchema } from './domain.ts';
import { icpSchema, offerSchema } from './icp.ts';

/** Body of `POST /v1/icps/draft`. */
export const draftInputSchema = z.strictObject({
  offer: offerSchema
    .refine((text) => /[\p{L}\p{N}]/u.test(text), 'must hold a letter or a digit')
    .describe('What is sold, in a sentence'),
  domain: domainSchema.optional().describe("The seller's domain: what is known of that company is used"),
});

/** A profile that is not stored: what `POST /v1/icps` takes, whole. */
export const icpDraftSchema = icpSchema
  .omit({ id: true, created_at: true, updated_at: true })
  .meta({ id: 'IcpDraft', description: 'A profile that is not stored: what creating one takes' });
export type IcpDraft = z.output<typeof icpDraftSchema>;
