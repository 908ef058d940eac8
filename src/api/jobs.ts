import { DomainError } from '../model/errors.ts';
import { jobSchema } from '../model/job.ts';
import { jobResource } from '../signals/jobs.ts';
import type { Routes } from './routes.ts';

/** `GET /v1/jobs/{id}`: how far a batch is that is done after its answer. */
export function addJobs(signals: Routes): void {
  signals.get('/jobs/:id', {
    operationId: 'getJob',
    summary: 'One job with its progress and results',
    description: 'Kept for 7 days after it was made.',
    scope: 'signals:read',
    answer: jobSchema,
    async handle({ parts: { store }, tenantId, params: { id } }) {
      const job = await store.getJob(tenantId, id);
      if (job === null) throw new DomainError('NOT_FOUND', `There is no job "${id}".`);
      return jobResource(job);
    },
  });
}
