import { z } from 'zod';
import { fromIso } from '../lib/clock.ts';

const time = z.iso.datetime({ offset: true }).transform(fromIso);

/** Body of a bulk replay; without one, every dead letter of the endpoint. */
export const replayOrderSchema = z
  .strictObject({
    status: z
      .enum(['dead', 'discarded', 'expired', 'delivered'])
      .default('dead')
      .describe('How they ended; of expired ones the body is gone, so that none of them can be sent'),
    from: time.nullable().optional().describe('Made from this time on'),
    to: time.nullable().optional().describe('Made before this time; absent: now'),
  })
  .nullish();
