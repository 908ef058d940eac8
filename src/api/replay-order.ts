import { z } from 'zod';
import { timeInput } from '../model/text.ts';

/** Body of a bulk replay; without one, every dead letter of the endpoint. */
export const replayOrderSchema = z
  .strictObject({
    status: z
      .enum(['dead', 'discarded', 'expired', 'delivered'])
      .default('dead')
      .describe('How they ended; of expired ones the body is gone, so that none of them can be sent'),
    from: timeInput.nullable().optional().describe('Made from this time on'),
    to: timeInput.nullable().optional().describe('Made before this time; absent: now'),
  })
  .nullish();
