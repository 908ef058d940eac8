import { z } from 'zod';
import { icpPatchSchema } from './icp.ts';
import { classificationSchema, explanationSchema } from './signal.ts';
import { idInput } from './text.ts';

export const MAX_PREVIEW_POSTS = 200;

/** Body of `POST /v1/icps/preview`: a draft's settings, and what they are tried on. */
export const previewInputSchema = icpPatchSchema.extend({
  icp_profile_id: idInput
    .optional()
    .describe('The profile that the draft changes; without it the draft starts from nothing'),
  limit: z
    .int()
    .min(1)
    .max(MAX_PREVIEW_POSTS)
    .default(50)
    .describe('How many of the newest posts are scored'),
});
export type PreviewInput = z.output<typeof previewInputSchema>;

const verdictSchema = z.strictObject({
  score: z.int().min(0).max(100),
  classification: classificationSchema,
});
export type Verdict = z.output<typeof verdictSchema>;

const countsSchema = z.strictObject({ hot: z.int(), warm: z.int(), cold: z.int() });

const previewedSchema = z.strictObject({
  signal_id: z.string(),
  excerpt: z.string(),
  old: verdictSchema.describe('As stored: of the profile that the draft changes, else the best of the post'),
  new: verdictSchema.describe('As the draft would have it'),
  explanation: explanationSchema.describe('Why the draft would have it so'),
  relevant: z.boolean().nullable().describe('What was said of the signal by feedback; null: nothing'),
});
export type PreviewedPost = z.output<typeof previewedSchema>;

/** What a draft would make of stored posts. Nothing is stored and nobody is told. */
export const previewSchema = z.strictObject({
  posts: z.array(previewedSchema).describe('Newest first'),
  counts: z.strictObject({
    posts: z.int(),
    old: countsSchema,
    new: countsSchema,
    up: z.int().describe('Posts whose score would rise'),
    down: z.int().describe('Posts whose score would fall'),
    unchanged: z.int(),
  }),
});
export type Preview = z.output<typeof previewSchema>;
