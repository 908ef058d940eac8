import type { Database } from 'better-sqlite3';
import type { Endpoint } from '../../../model/webhook.ts';
import { createDeliverySql } from '../tables/deliveries.ts';
import { createEndpointSql } from '../tables/endpoints.ts';

export function endpointOperations(db: Database) {
  const endpoints = createEndpointSql(db);
  const deliveries = createDeliverySql(db);

  return {
    createEndpoint: (endpoint: Endpoint, limit: number | null): boolean => endpoints.insert(endpoint, limit),
    deleteEndpoint(tenantId: string, id: string, now: number): boolean {
      if (!endpoints.markDeleted(tenantId, id, now)) return false;
      deliveries.discardOf(id);
      return true;
    },
  };
}
