import type { FastifyInstance } from 'fastify';
import { type Problems, sendAsIs } from '../http/problems.ts';
import { createAdmission } from './admission.ts';
import { createMetrics, type Metrics, type MetricsParts } from './metrics.ts';
import { createReadiness, type ReadinessParts } from './readiness.ts';

export interface OperationParts extends Omit<MetricsParts, 'store'>, ReadinessParts {
  store: MetricsParts['store'] & ReadinessParts['store'];
  problems: Problems;
  /** ADMIN_METRICS_TOKEN. */
  token: string | null;
}

const RETRY_AFTER_SECONDS = '5';

/** What an operator's machines ask: `/metrics` and `/ready`. Without keys and limits, for this machine or by token only. */
export async function operation(app: FastifyInstance, parts: OperationParts): Promise<void> {
  const { problems } = parts;
  const refusal = createAdmission(parts.token);
  let metrics: Metrics | null = null;
  const look = createReadiness(parts);

  app.addHook('onRequest', (request, reply, done) => {
    reply.header('cache-control', 'no-store');
    const detail = refusal(request);
    if (detail === null) done();
    else problems.send(request, reply, { code: 'UNAUTHENTICATED', detail });
  });

  app.get('/metrics', async (_request, reply) => {
    // What watches the process (event loop, garbage) begins when somebody looks at it.
    metrics ??= createMetrics(parts);
    return sendAsIs(reply, metrics.contentType, await metrics.text());
  });
  app.get('/ready', async (_request, reply) => {
    const readiness = await look();
    if (readiness.status === 'unready') reply.code(503).header('retry-after', RETRY_AFTER_SECONDS);
    return sendAsIs(reply, 'application/json', JSON.stringify(readiness));
  });
}
