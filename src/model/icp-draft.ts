import { z } from 'zod';
import { icpPatchSchema, icpSchema, offerSchema } from './icp.ts';
import { classificationSchema, explanationSchema } from './signal.ts';
import { domainSchema, idInput } from './text.ts';

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

/** What to consider before using a draft. */
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

export const MAX_PREVIEW_POSTS = 200;

/** Body of `POST /v1/icps/preview`: settings of a draft, and the posts to score with it. */
export const previewInputSchema = icpPatchSchema.extend({
  icp_profile_id: idInput
    .optional()
    .describe(
      'ID of the profile that the draft changes. If omitted, the draft starts from an empty profile.',
    ),
  limit: z.int().min(1).max(MAX_PREVIEW_POSTS).default(50).describe('Number of newest posts to score.'),
});
export type PreviewInput = z.output<typeof previewInputSchema>;

const scoredSchema = z.strictObject({
  score: z.int().min(0).max(100).describe('The score, from 0 to 100.'),
  classification: classificationSchema.describe('Classification of the score.'),
});
export type Scored = z.output<typeof scoredSchema>;

const countsSchema = z.strictObject({
  hot: z.int().describe('Number of `hot` posts.'),
  warm: z.int().describe('Number of `warm` posts.'),
  cold: z.int().describe('Number of `cold` posts.'),
});

const previewedSchema = z.strictObject({
  signal_id: z.string().describe('ID of the stored signal.'),
  excerpt: z.string().describe('Beginning of the post, up to 500 characters.'),
  old: scoredSchema.describe(
    'Stored score, with the profile that the draft changes; without one, the best score of the post.',
  ),
  new: scoredSchema.describe('Score with the draft.'),
  explanation: explanationSchema.describe('Breakdown of the score with the draft.'),
  relevant: z
    .boolean()
    .nullable()
    .describe('Feedback on the signal: whether it was relevant; `null` without feedback.'),
});
export type PreviewedPost = z.output<typeof previewedSchema>;

/** Scores of stored posts under a draft. Nothing is stored or delivered. */
export const previewSchema = z.strictObject({
  posts: z.array(previewedSchema).describe('The scored posts, newest first.'),
  counts: z
    .strictObject({
      posts: z.int().describe('Number of scored posts.'),
      old: countsSchema.describe('Stored classifications.'),
      new: countsSchema.describe('Classifications with the draft.'),
      up: z.int().describe('Number of posts with a higher score.'),
      down: z.int().describe('Number of posts with a lower score.'),
      unchanged: z.int().describe('Number of posts with the same score.'),
    })
    .describe('Summary of the changes.'),
});
export type Preview = z.output<typeof previewSchema>;

const shareSchema = z.strictObject({
  judged: z.int().describe('Number of signals with feedback.'),
  relevant: z.int().describe('Number of these that were relevant.'),
  precision: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .describe('Precision: `relevant` divided by `judged`, from 0 to 1; `null` without feedback.'),
  interval: z
    .strictObject({
      low: z.number().min(0).max(1).describe('Lower bound of the precision.'),
      high: z.number().min(0).max(1).describe('Upper bound of the precision.'),
    })
    .nullable()
    .describe('95% confidence interval of the precision (Wilson score); `null` without feedback.'),
});
export type Share = z.output<typeof shareSchema>;

/** Precision of a profile, based on feedback on its signals. */
export const icpQualitySchema = z
  .strictObject({
    icp_profile_id: z.string().describe('ID of the profile.'),
    ...shareSchema.shape,
    by_classification: z
      .strictObject({
        hot: shareSchema.describe('Precision of `hot` signals.'),
        warm: shareSchema.describe('Precision of `warm` signals.'),
        cold: shareSchema.describe('Precision of `cold` signals.'),
      })
      .describe('Precision by classification.'),
  })
  .meta({ id: 'IcpQuality', description: 'Precision of a profile, by the feedback on its signals.' });
export type IcpQuality = z.output<typeof icpQualitySchema>;

const countSchema = z.strictObject({
  relevant: z.int().describe('Number of relevant signals.'),
  not_relevant: z.int().describe('Number of signals that were not relevant.'),
});

/** A change to a profile, suggested by feedback on its signals. */
export const icpSuggestionSchema = z
  .strictObject({
    id: z.string().describe('Unique identifier of the suggestion. The same change always has the same ID.'),
    kind: z
      .enum([
        ...(['mute_author', 'mute_source', 'exclude_phrase', 'add_phrase'] as const),
        ...(['raise_threshold', 'lower_threshold', 'move_weight', 'learned_topic'] as const),
      ])
      .describe('Kind of change.'),
    member: z.string().describe('Member of the profile that would change, such as `weights.pain`.'),
    status: z
      .enum(['open', 'accepted', 'dismissed'])
      .describe('Status of the suggestion; `open` until it is accepted or dismissed.'),
    summary: z.string().describe('The change and the reason for it, in a sentence.'),
    value: z
      .union([z.string(), z.int()])
      .describe(
        'Text to add to the list, the new threshold or weight, or the number of judgements learned from.',
      ),
    effect: z
      .strictObject({
        shown_before: countSchema.describe('Signals that are `hot` or `warm` now.'),
        shown_after: countSchema.describe('Signals that would be `hot` or `warm` with the change.'),
      })
      .describe('Effect on the signals with feedback so far.'),
  })
  .meta({
    id: 'IcpSuggestion',
    description: 'A change of a profile, suggested by the feedback on its signals.',
  });
export type IcpSuggestion = z.output<typeof icpSuggestionSchema>;

/** Body of `POST /v1/icps/{id}/suggestions/{suggestion}`. */
export const suggestionActionSchema = z.strictObject({
  action: z
    .enum(['accept', 'dismiss', 'undo'])
    .describe(
      'What to do. `undo` reverts an acceptance, including its change of the profile, or a dismissal. A `learned_topic` is accepted without being asked for.',
    ),
});
export type SuggestionAction = z.output<typeof suggestionActionSchema>['action'];
