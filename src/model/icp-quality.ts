import { z } from 'zod';

const shareSchema = z.strictObject({
  judged: z.int().describe('Signals of which feedback says whether they were relevant'),
  relevant: z.int().describe('Those that were'),
  precision: z.number().min(0).max(1).nullable().describe('relevant over judged; null where none is judged'),
  interval: z
    .strictObject({
      low: z.number().min(0).max(1).describe('Least precision that is likely'),
      high: z.number().min(0).max(1).describe('Greatest precision that is likely'),
    })
    .nullable()
    .describe('95 % confidence (Wilson)'),
});
export type Share = z.output<typeof shareSchema>;

/** How much of what a profile showed was right, by the feedback on its signals. */
export const icpQualitySchema = z
  .strictObject({
    icp_profile_id: z.string().describe('The profile'),
    ...shareSchema.shape,
    by_classification: z
      .strictObject({
        hot: shareSchema.describe('Of those that are hot'),
        warm: shareSchema.describe('Of those that are warm'),
        cold: shareSchema.describe('Of those that are cold'),
      })
      .describe('The same by class'),
  })
  .meta({ id: 'IcpQuality', description: 'How much of what a profile showed was right' });
export type IcpQuality = z.output<typeof icpQualitySchema>;

const countSchema = z.strictObject({
  relevant: z.int().describe('Signals that were relevant'),
  not_relevant: z.int().describe('Signals that were not'),
});

/** A change of a profile that the feedback on its signals suggests. */
export const icpSuggestionSchema = z
  .strictObject({
    id: z.string().describe('The same for the same change'),
    kind: z
      .enum([
        ...(['mute_author', 'mute_source', 'exclude_phrase', 'add_phrase'] as const),
        ...(['raise_threshold', 'lower_threshold', 'move_weight'] as const),
      ])
      .describe('What would be changed'),
    member: z.string().describe("The profile's member that would change, such as `weights.pain`"),
    status: z.enum(['open', 'accepted', 'dismissed']).describe('What was decided; open: nothing'),
    summary: z.string().describe('The change and its reason, for people'),
    value: z
      .union([z.string(), z.int()])
      .describe('What would be added to the list, or the new threshold or weight'),
    effect: z
      .strictObject({
        shown_before: countSchema.describe('As they stand'),
        shown_after: countSchema.describe('With the change'),
      })
      .describe('Signals judged so far that are hot or warm, as they stand and with the change'),
  })
  .meta({ id: 'IcpSuggestion', description: 'A change of a profile that feedback suggests' });
export type IcpSuggestion = z.output<typeof icpSuggestionSchema>;

/** Body of `POST /v1/icps/{id}/suggestions/{suggestion}`. */
export const suggestionActionSchema = z.strictObject({
  action: z
    .enum(['accept', 'dismiss', 'undo'])
    .describe('`undo` takes back an acceptance, with its change of the profile, or a dismissal'),
});
export type SuggestionAction = z.output<typeof suggestionActionSchema>['action'];
