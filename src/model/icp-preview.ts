import { z } from 'zod';
import { icpPatchSchema } from './icp.ts';
import { classificationSchema, explanationSchema } from './signal.ts';
import { idInput } from './text.ts';

export const MAX_PREVIEW_POSTS = 200;

/** Body of `POST /v1/icps/preview`: a draft's settings, and the posts to try them on. */
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

/** Scores of stored posts with a draft. Nothing is stored or delivered. */
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
