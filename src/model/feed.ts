import { z } from 'zod';
import { eventTypeSchema } from './event.ts';

/** How long events stay in a feed. */
export const FEED_MS = 7 * 24 * 3_600_000;

/** An event in the feed of an endpoint. */
export const feedEventSchema = z
  .strictObject({
    id: z.string().describe('ID of the delivery; the same as its `webhook-id`.'),
    type: eventTypeSchema.describe('Type of the event.'),
    timestamp: z.iso.datetime().describe('When the event happened.'),
    payload: z
      .record(z.string(), z.unknown())
      .describe('The exact body that is posted to a `url`, including its `signature`.'),
  })
  .meta({ id: 'FeedEvent', description: 'An event in the feed of an endpoint.' });
