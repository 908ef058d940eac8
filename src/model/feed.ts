import { z } from 'zod';
import { eventTypeSchema } from './event.ts';

/** How long a feed goes back. */
export const FEED_MS = 7 * 24 * 3_600_000;

/** An event in the feed of an endpoint. */
export const feedEventSchema = z
  .strictObject({
    id: z.string().describe('The delivery: what `webhook-id` is where it is posted'),
    type: eventTypeSchema,
    timestamp: z.iso.datetime().describe('When it happened'),
    payload: z
      .record(z.string(), z.unknown())
      .describe('Byte for byte what is posted to an address, its `signature` included'),
  })
  .meta({ id: 'FeedEvent', description: 'An event in the feed of an endpoint' });
