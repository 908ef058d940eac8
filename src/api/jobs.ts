import { DomainError } from '../model/errors.ts';
import { jobSchema } from '../model/job.ts';
import { jobResource } from '../signals/jobs.ts';
import type { Routes } from './routes.ts';

/** `GET /v1/jobs/{id}`: progress and results of a batch that is processed in the background. */
export function addJobs(signals: Routes): void {
  signals.get('/jobs/:id', {
    operationId: 'getJob',
    summary: 'Get a job',
    description:
      'Returns the progress and results of a batch that is processed in the background. Jobs are kept for 7 days.',
    scope: 'signals:read',
    answer: jobSchema,
    async handle({ parts: { store }, tenantId, params: { id } }) {
      const job = await store.getJob(tenantId, id);
      if (job === null) throw new DomainError('NOT_FOUND', `There is no job "${id}".`);
      return jobResource(job);
    },
  });
}
