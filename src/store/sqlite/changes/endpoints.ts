import type { Database } from 'better-sqlite3';
import { nextProbeAt } from '../../../rules/endpoint-pause.ts';
import type { EndpointStore } from '../../endpoint-store.ts';
import type { Part } from '../../store.ts';
import { ENDPOINTS, endpointReads } from '../reads/endpoints.ts';
import { createDiscard } from './discard.ts';
import { createEndpointState } from './endpoint-state.ts';

/** Deliveries discarded in the commit that deletes their endpoint; about 10 ms of the writer. Housekeeping does the rest. */
const DISCARDED_AT_ONCE = 1_000;

export function endpointChanges(db: Database) {
  const count = db
    .prepare<[string], number>(
      "SELECT count(*) FROM webhook_endpoints WHERE tenant_id = ? AND deleted_at IS NULL AND mode <> 'mcp'",
    )
    .pluck();
  const insert = ENDPOINTS.insert(db);
  const update = db.prepare<Record<string, unknown>[]>(
    `UPDATE webhook_endpoints
     SET settings = :settings, secret_box = :secretBox, secret_last4 = :secretLast4,
       previous_secret_box = :previousSecretBox, previous_secret_until = :previousSecretUntil,
       headers = :headers, headers_box = :headersBox, ordered = :ordered, version = version + 1
     WHERE id = :id AND tenant_id = :tenantId AND version = :version AND deleted_at IS NULL`,
  );
  const markDeleted = db.prepare<Record<string, unknown>[]>(
    `UPDATE webhook_endpoints SET deleted_at = :now, version = version + 1
     WHERE id = :id AND tenant_id = :tenantId AND deleted_at IS NULL AND version = ifnull(:version, version)`,
  );
  const countActive = db
    .prepare<[string], number>(
      `SELECT count(*) FROM webhook_endpoints
       WHERE tenant_id = ? AND deleted_at IS NULL AND status = 'active' AND mode <> 'mcp'`,
    )
    .pluck();
  const { getEndpoint } = endpointReads(db);
  const state = createEndpointState(db);
  const discardWaiting = createDiscard(db);

  return {
    createEndpoint(endpoint, limit) {
      if (limit !== null && (count.get(endpoint.tenantId) ?? 0) >= limit) return false;
      insert(endpoint);
      return true;
    },
    updateEndpoint(endpoint, now) {
      const { id, settings } = endpoint;
      if (update.run(ENDPOINTS.encode(endpoint)).changes === 0) return false;
      state.planProbe(id, settings.auto_resume ? nextProbeAt(now, 0) : null);
      return true;
    },
    pauseEndpoint(tenantId, id, now) {
      if (getEndpoint(tenantId, id) === null) return false;
      if (!state.pause(id, now, { reason: 'manual', probeAt: null })) state.holdByHand(id);
      return true;
    },
    resumeEndpoint({ tenantId, id, now, endpointLimit, limit }) {
      const endpoint = getEndpoint(tenantId, id);
      if (endpoint === null) return 'absent';
      if (endpoint.status === 'active') return 'active';
      if (endpointLimit !== null && (countActive.get(tenantId) ?? 0) >= endpointLimit) return 'over_limit';
      if (state.releaseRetries(id, now, limit) === limit) return 'more';
      state.activate(id, { clearFailures: true });
      return 'resumed';
    },
    deleteEndpoint(tenantId, id, now, version) {
      if (markDeleted.run({ tenantId, id, now, version: version ?? null }).changes === 0) return false;
      discardWaiting(id, DISCARDED_AT_ONCE);
      return true;
    },
  } satisfies Part<EndpointStore>;
}
