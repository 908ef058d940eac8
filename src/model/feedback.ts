import { z } from 'zod';

/** Body of `POST /v1/signals/{id}/feedback`. */
export const feedbackInputSchema = z.strictObject({
  relevant: z.boolean().describe('Whether the signal was relevant.'),
  reason: z.string().trim().max(1_000).default('').describe('The reason, in your own words.'),
});

/** Feedback as every API shows it. */
export const feedbackSchema = z.strictObject({
  signal_id: z.string().describe('ID of the signal.'),
  relevant: z.boolean().describe('Whether the signal was relevant.'),
  reason: z.string().describe('The reason given; an empty string if none.'),
  created_at: z.iso.datetime().describe('When the feedback was given.'),
});
