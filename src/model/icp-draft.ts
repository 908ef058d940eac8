import { z } from 'zod';
import { domainSchema } from './domain.ts';
import { icpSchema, offerSchema } from './icp.ts';

/** Body of `POST /v1/icps/draft`. */
export const draftInputSchema = z.strictObject({
  offer: offerSchema
    .refine((text) => /[\p{L}\p{N}]/u.test(text), 'must hold a letter or a digit')
    .describe('What you sell, in a sentence.'),
  domain: domainSchema
    .optional()
    .describe('Your domain. Known facts about your company are used for the draft.'),
});

/** A profile that is not stored, in the form that `POST /v1/icps` accepts. */
export const icpDraftSchema = icpSchema.omit({ id: true, created_at: true, updated_at: true }).meta({
  id: 'IcpDraft',
  description: 'A profile that is not stored, in the form that `createIcp` accepts.',
});
export type IcpDraft = z.output<typeof icpDraftSchema>;

const phraseReachSchema = z.strictObject({
  phrase: z.string().describe('The phrase.'),
  posts: z.int().describe('Number of stored posts that contain the phrase.'),
  examples: z
    .array(
      z.strictObject({
        signal_id: z.string().describe('ID of a signal of the post.'),
        excerpt: z.string().describe('Beginning of the post, up to 500 characters.'),
      }),
    )
    .max(2)
    .describe('The newest of these posts, at most 2.'),
});

/** What to know before using a draft. */
export const draftReviewSchema = z
  .strictObject({
    posts_searched: z.int().describe('Number of newest stored posts searched for the phrases.'),
    phrases: z
      .array(phraseReachSchema)
      .describe('How often each phrase occurs, in the order of `data.phrases`.'),
    question: z
      .strictObject({
        text: z.string().describe('The question.'),
        choices: z
          .array(
            z.strictObject({
              label: z.string().describe('The choice.'),
              offer: z.string().describe('Offer to draft from again.'),
            }),
          )
          .describe('Choices to answer it with.'),
      })
      .nullable()
      .describe('A question to clarify an ambiguous offer; `null` if it is clear.'),
    notes: z.array(z.string()).describe('What the draft lacks, such as competitors.'),
  })
  .meta({ id: 'DraftReview', description: 'How often the phrases of a draft occur, and what is missing.' });
export type DraftReview = z.output<typeof draftReviewSchema>;
export type DraftQuestion = NonNullable<DraftReview['question']>;
