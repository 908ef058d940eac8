import { z } from 'zod';

/** How long a job is kept after it was made. */
export const JOB_MS = 7 * 24 * 3_600_000;

const resultSchema = z.strictObject({
  index: z.int().describe('Place of the item in the request'),
  status: z.enum(['created', 'duplicate', 'rejected']).describe('What became of it'),
  updated: z
    .literal(true)
    .optional()
    .describe('Stored signals of the post were given its new text; else left out'),
  signal_ids: z.array(z.string()).describe('The signals that it made or is a duplicate of'),
  errors: z
    .array(
      z.strictObject({
        pointer: z.string().describe('JSON pointer into the request'),
        detail: z.string().describe('What is wrong'),
      }),
    )
    .describe('Why it was rejected; else empty'),
  errors_total: z.int().optional().describe('How many faults it has, where `errors` holds not all'),
});
export type JobResult = z.output<typeof resultSchema>;

/** Work that is done after it was taken on. */
export const jobSchema = z
  .strictObject({
    id: z.string(),
    kind: z.literal('signals.batch').describe('What it does'),
    status: z
      .enum(['pending', 'running', 'done', 'failed'])
      .describe('`failed`: it ended before its end, see `error`'),
    total: z.int().describe('Items in the request'),
    processed: z.int().describe('Items that are done; with `total` the progress'),
    created: z.int().describe('Items that are `created`'),
    duplicates: z.int().describe('Items that are `duplicate`'),
    rejected: z.int().describe('Items that are `rejected`'),
    results: z.array(resultSchema).describe('Of the items that are done, in the order of the request'),
    error: z
      .strictObject({ code: z.string(), detail: z.string() })
      .nullable()
      .describe('Why it ended before its end; what was done by then stays'),
    created_at: z.iso.datetime(),
    finished_at: z.iso.datetime().nullable().describe('null: it goes on'),
    expires_at: z.iso.datetime().describe('Until then it can be read'),
  })
  .meta({ id: 'Job', description: 'Work that is done after it was taken on' });

/** A job as stored. Times are Unix milliseconds. */
export interface Job {
  id: string;
  tenantId: string;
  kind: 'signals.batch';
  status: 'pending' | 'running' | 'done' | 'failed';
  total: number;
  processed: number;
  createdAt: number;
  finishedAt: number | null;
  error: { code: string; detail: string } | null;
  results: JobResult[];
}
