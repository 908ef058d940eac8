import type { EndpointStore } from '../../endpoint-store.ts';
import type { Context } from '../context.ts';
import { createEndpointSql } from '../tables/endpoints.ts';

export function endpointMethods({ db, clock, writer, read }: Context) {
  const endpoints = createEndpointSql(db);

  return {
    createEndpoint: (endpoint, limit) => writer.run('createEndpoint', endpoint, limit),
    listEndpoints: (tenantId) => read(() => endpoints.list(tenantId)),
    pageEndpoints: (tenantId, after, limit) => read(() => endpoints.page(tenantId, after, limit)),
    getEndpoint: (tenantId, id) => read(() => endpoints.get(tenantId, id)),
    updateEndpoint: (endpoint) => writer.run('updateEndpoint', endpoint, clock.now()),
    pauseEndpoint: (tenantId, id, now) => writer.run('pauseEndpoint', tenantId, id, now),
    resumeEndpoint: (step) => writer.run('resumeEndpoint', step),
    deleteEndpoint: (tenantId, id, now) => writer.run('deleteEndpoint', tenantId, id, now),
  } satisfies EndpointStore;
}
