import { z } from 'zod';

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

/** Precision of a profile, by the feedback on its signals. */
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

/** A change of a profile that the feedback on its signals suggests. */
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
