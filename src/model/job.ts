import { z } from 'zod';
import { DAY_MS } from '../lib/clock.ts';

/** How long a job is kept after its creation. */
export const JOB_MS = 7 * DAY_MS;

const resultSchema = z.strictObject({
  index: z.int().describe('Index of the item in the request, from 0.'),
  status: z.enum(['created', 'duplicate', 'rejected']).describe('Result of the item.'),
  updated: z
    .literal(true)
    .optional()
    .describe('Present if stored signals of the post were updated with its new text.'),
  signal_ids: z
    .array(z.string())
    .describe('IDs of the signals created, or of the existing ones for a duplicate.'),
  errors: z
    .array(
      z.strictObject({
        pointer: z.string().describe('JSON Pointer (RFC 6901) into the request body.'),
        detail: z.string().describe('Description of the error.'),
      }),
    )
    .describe('Errors of a rejected item; otherwise empty.'),
  errors_total: z.int().optional().describe('Total number of errors, if `errors` does not list them all.'),
});
export type JobResult = z.output<typeof resultSchema>;

/** Work that continues after the response to its request. */
export const jobSchema = z
  .strictObject({
    id: z.string().describe('Unique identifier of the job.'),
    kind: z.literal('signals.batch').describe('Kind of job.'),
    status: z
      .enum(['pending', 'running', 'done', 'failed'])
      .describe('Status of the job. A `failed` job stopped early; see `error`.'),
    total: z.int().describe('Number of items in the request.'),
    processed: z.int().describe('Number of items processed so far.'),
    created: z.int().describe('Number of items with the status `created`.'),
    duplicates: z.int().describe('Number of items with the status `duplicate`.'),
    rejected: z.int().describe('Number of items with the status `rejected`.'),
    results: z
      .array(resultSchema)
      .describe('Results of the items processed so far, in the order of the request.'),
    error: z
      .strictObject({
        code: z.string().describe('Machine-readable code of the error.'),
        detail: z.string().describe('Description of the error.'),
      })
      .nullable()
      .describe('Why the job stopped early; `null` otherwise. Items processed before stay.'),
    created_at: z.iso.datetime().describe('When the job was created.'),
    finished_at: z.iso.datetime().nullable().describe('When the job finished; `null` while it is running.'),
    expires_at: z.iso.datetime().describe('When the job will be deleted.'),
  })
  .meta({ id: 'Job', description: 'A batch that is processed in the background.' });

/** The progress of a job. */
export interface JobProgress {
  id: string;
  tenantId: string;
  total: number;
  processed: number;
}

/** A job as stored, without its results, which may have 16 MB. Times are Unix milliseconds. */
export interface Job extends JobProgress {
  kind: 'signals.batch';
  status: 'pending' | 'running' | 'done' | 'failed';
  createdAt: number;
  finishedAt: number | null;
  error: { code: string; detail: string } | null;
}
