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

const phraseReachSchema = z.strictObject({
  phrase: z.string(),
  posts: z.int().describe('Stored posts that it is found in'),
  examples: z
    .array(z.strictObject({ signal_id: z.string(), excerpt: z.string() }))
    .max(2)
    .describe('The newest of them'),
});

/** What a person should know before a draft is used. */
export const draftReviewSchema = z
  .strictObject({
    posts_searched: z.int().describe('Newest stored posts that the phrases were looked for in'),
    phrases: z.array(phraseReachSchema).describe('In the order of `data.phrases`'),
    question: z
      .strictObject({
        text: z.string(),
        choices: z.array(
          z.strictObject({ label: z.string(), offer: z.string().describe('To draft from again') }),
        ),
      })
      .nullable()
      .describe('What to ask back where the offer can be read in two ways; null: nothing'),
    notes: z.array(z.string()).describe('What the draft lacks, such as competitors'),
  })
  .meta({ id: 'DraftReview' });
export type DraftReview = z.output<typeof draftReviewSchema>;
export type DraftQuestion = NonNullable<DraftReview['question']>;
