import { z } from 'zod';

/** Body of `POST /v1/signals/{id}/feedback`. */
export const feedbackInputSchema = z.strictObject({
  relevant: z.boolean().describe('Whether the signal was worth it'),
  reason: z.string().trim().max(1_000).default('').describe('Why, in your own words'),
});

/** Feedback on the wire. */
export const feedbackSchema = z.strictObject({
  signal_id: z.string(),
  relevant: z.boolean(),
  reason: z.string(),
  created_at: z.iso.datetime(),
});
