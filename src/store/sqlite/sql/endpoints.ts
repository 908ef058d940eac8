import type { Database } from 'better-sqlite3';
import { storedFormatBytes } from '../../../model/payload-shape.ts';
import type { Endpoint } from '../../../model/webhook.ts';
import type { EndpointStatements } from '../../changes/endpoints.ts';
import { ENDED_SUBSCRIPTIONS, ENDPOINTS, endpointReads, SUBSCRIPTIONS } from '../reads/endpoints.ts';
import { WAITING } from '../reads/shown-state.ts';
import { changed, count, encoding, row, run, value, values } from './prepared.ts';

/** With the size of its payload format, since settings are only read whole. */
const STORED = ENDPOINTS.with<{ formatBytes: number }>({ formatBytes: 'plain' });

const toRow = (endpoint: Endpoint) => ({
  ...endpoint,
  formatBytes: storedFormatBytes(endpoint.settings.payload_format),
});

export function endpointsSql(db: Database): EndpointStatements['endpoints'] {
  const insert = STORED.insert(db);
  const update = changed<Record<string, unknown>[]>(
    db,
    `UPDATE webhook_endpoints
     SET settings = :settings, format_bytes = :formatBytes, secret_box = :secretBox, secret_last4 = :secretLast4,
       previous_secret_box = :previousSecretBox, previous_secret_until = :previousSecretUntil,
       headers = :headers, headers_box = :headersBox, ordered = :ordered, version = version + 1
     WHERE id = :id AND tenant_id = :tenantId AND version = :version AND deleted_at IS NULL`,
  );
  return {
    pause: row(
      db,
      `UPDATE webhook_endpoints
     SET status = 'paused', paused_reason = :reason, paused_at = :now, next_probe_at = :probeAt, probes = 0,
         alarm = iif(mode = 'mcp', 'none', 'paused'), version = version + 1
     WHERE id = :id AND status = 'active' AND deleted_at IS NULL
     RETURNING tenant_id, mode, settings, version, consecutive_failures`,
    ),
    // If it is already paused, its deliveries stay held since then, and it is no longer resumed automatically.
    holdByHand: changed(
      db,
      `UPDATE webhook_endpoints SET paused_reason = 'manual', next_probe_at = NULL, version = version + 1
     WHERE id = ? AND status = 'paused' AND paused_reason <> 'manual' AND deleted_at IS NULL`,
    ),
    activate: changed(
      db,
      `UPDATE webhook_endpoints
     SET status = 'active', paused_reason = NULL, paused_at = NULL, next_probe_at = NULL, probes = 0, version = version + 1
     WHERE id = ? AND status = 'paused' AND deleted_at IS NULL`,
    ),
    planProbe: run(
      db,
      `UPDATE webhook_endpoints SET next_probe_at = iif(:probeAt IS NULL, NULL, ifnull(next_probe_at, :probeAt))
     WHERE id = :id AND status = 'paused' AND paused_reason = 'failures'`,
    ),
    clearCount: run(db, 'UPDATE webhook_endpoints SET consecutive_failures = 0 WHERE id = ?'),
    releaseRetries: count(
      db,
      `UPDATE deliveries SET next_attempt_at = ? WHERE id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_due
       WHERE endpoint_id = ? AND urgent IN (0, 1) AND ${WAITING} AND next_attempt_at > ? LIMIT ?)`,
    ),
    isProbeDue: value(
      db,
      `SELECT 1 FROM webhook_endpoints
       WHERE id = ? AND next_probe_at <= ? AND status = 'paused' AND deleted_at IS NULL`,
    ),
    selectProbes: value(
      db,
      "SELECT probes FROM webhook_endpoints WHERE id = ? AND status = 'paused' AND next_probe_at IS NOT NULL",
    ),
    planNextProbe: run(
      db,
      'UPDATE webhook_endpoints SET probes = probes + 1, next_probe_at = ? WHERE id = ?',
    ),
    shiftProbes: run(
      db,
      'UPDATE webhook_endpoints SET next_probe_at = next_probe_at + ? WHERE next_probe_at IS NOT NULL',
    ),
    endProbesOf: run(
      db,
      `UPDATE webhook_endpoints SET paused_reason = 'gone', next_probe_at = NULL
     WHERE id = ? AND status = 'paused' AND paused_reason = 'failures'`,
    ),
    addFailure: row(
      db,
      `UPDATE webhook_endpoints SET consecutive_failures = consecutive_failures + 1 WHERE id = ?
     RETURNING consecutive_failures AS failures, settings ->> '$.auto_resume' AS autoResume, tenant_id AS tenantId,
       settings ->> '$.label' AS label, settings ->> '$.url' AS url, version,
       status = 'active' AND deleted_at IS NULL AND mode <> 'mcp' AS isWatched`,
    ),
    // The condition saves the write in the common case of consecutive successes.
    resetFailures: run(
      db,
      'UPDATE webhook_endpoints SET consecutive_failures = 0 WHERE id = ? AND consecutive_failures <> 0',
    ),
    selectAlarm: row(
      db,
      `SELECT tenant_id AS tenantId, alarm FROM webhook_endpoints
     WHERE id = ? AND alarm <> 'none' AND status = 'active' AND deleted_at IS NULL`,
    ),
    setAlarm: run(db, 'UPDATE webhook_endpoints SET alarm = ? WHERE id = ?'),
    discard: count(
      db,
      `UPDATE deliveries SET status = 'discarded', next_attempt_at = NULL WHERE id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_due WHERE endpoint_id = ? AND ${WAITING} LIMIT ?)`,
    ),
    selectActive: values(
      db,
      `SELECT id FROM webhook_endpoints WHERE tenant_id = ? AND deleted_at IS NULL AND status = 'active' AND mode <> 'mcp'
       ORDER BY created_at, id`,
    ),
    selectPausedByPlan: values(
      db,
      `SELECT id FROM webhook_endpoints
       WHERE tenant_id = ? AND deleted_at IS NULL AND status = 'paused' AND paused_reason = 'plan'
       ORDER BY created_at, id`,
    ),
    slowDown: run(
      db,
      `UPDATE webhook_endpoints
     SET settings = json_set(settings, '$.rate_limit_per_minute', ?), version = version + 1
     WHERE tenant_id = ? AND deleted_at IS NULL AND json_extract(settings, '$.rate_limit_per_minute') > ?`,
    ),
    endProbes: run(
      db,
      'UPDATE webhook_endpoints SET next_probe_at = NULL WHERE tenant_id = ? AND deleted_at IS NULL AND next_probe_at IS NOT NULL',
    ),
    count: value(
      db,
      "SELECT count(*) FROM webhook_endpoints WHERE tenant_id = ? AND deleted_at IS NULL AND mode <> 'mcp'",
    ),
    updateEndpoint: (endpoint) => update(STORED.encode(toRow(endpoint))),
    markDeleted: changed(
      db,
      `UPDATE webhook_endpoints SET deleted_at = :now, version = version + 1
     WHERE id = :id AND tenant_id = :tenantId AND deleted_at IS NULL AND version = ifnull(:version, version)`,
    ),
    countActive: value(
      db,
      `SELECT count(*) FROM webhook_endpoints
       WHERE tenant_id = ? AND deleted_at IS NULL AND status = 'active' AND mode <> 'mcp'`,
    ),
    insertEndpoint: (endpoint) => insert(toRow(endpoint)),
    sumFormats: row(
      db,
      `SELECT ifnull(sum(format_bytes), 0) AS total, ifnull(sum(format_bytes) FILTER (WHERE id = ?), 0) AS own
     FROM webhook_endpoints INDEXED BY webhook_endpoints_formats
     WHERE tenant_id = ? AND format_bytes > 0 AND deleted_at IS NULL`,
    ),
    // READS getEndpoint
    selectSubscription: value(db, 'SELECT 1 FROM mcp_subscriptions WHERE id = ?'),
    countSubscriptions: row(
      db,
      `SELECT count(*) AS ofTenant, count(*) FILTER (WHERE key_id = ?) AS ofKey
     FROM mcp_subscriptions WHERE tenant_id = ?`,
    ),
    renewSubscription: changed(db, 'UPDATE mcp_subscriptions SET expires_at = ? WHERE id = ?'),
    renewSecret: encoding(
      ENDPOINTS,
      changed(
        db,
        `UPDATE webhook_endpoints
     SET secret_box = :secretBox, secret_last4 = :secretLast4, previous_secret_box = :previousSecretBox,
       previous_secret_until = :previousSecretUntil, version = version + 1
     WHERE id = :id AND tenant_id = :tenantId AND version = :version AND deleted_at IS NULL`,
      ),
    ),
    takeSubscription: value(
      db,
      'DELETE FROM mcp_subscriptions WHERE id = ? AND tenant_id = ? AND key_id = ? RETURNING endpoint_id',
    ),
    takeEnded: values(
      db,
      `DELETE FROM mcp_subscriptions WHERE id IN (
         SELECT s.id FROM ${ENDED_SUBSCRIPTIONS} LIMIT :limit)
       RETURNING endpoint_id`,
    ),
    markDeletedSubscription: run(
      db,
      'UPDATE webhook_endpoints SET deleted_at = ?, version = version + 1 WHERE id = ? AND deleted_at IS NULL',
    ),
    insertSubscription: SUBSCRIPTIONS.insert(db),
    getEndpoint: endpointReads(db).getEndpoint,
  };
}
