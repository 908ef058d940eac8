import type { Database } from 'better-sqlite3';
import type { EndpointMode } from '../../../model/webhook.ts';
import { type Pause, pauseMail, stateAfter } from '../../../rules/endpoint-pause.ts';
import { createMailWriter } from './mail.ts';
import { createNoticeWriter } from './notices.ts';

/**
 * States of an endpoint:
 *   active  ── 20 failed attempts in a row (`failures`), 410 (`gone`), by hand (`manual`), plan limit (`plan`) → paused
 *   paused  ── resumed by hand, by a probe's success, or by a larger plan                                      → active
 *   either  ── deleted                                                                                         → gone for good
 *
 * Pausing writes one row. What waits stays as it is and is shown as `held`; no claim is given anything of a paused
 * endpoint (docs/decisions/pause-and-hold.md).
 */
export function createEndpointState(db: Database) {
  const addMail = createMailWriter(db);
  const addNotice = createNoticeWriter(db);
  const pause = db.prepare<
    Record<string, unknown>[],
    { tenant_id: string; mode: EndpointMode; settings: string; version: number; consecutive_failures: number }
  >(
    `UPDATE webhook_endpoints
     SET status = 'paused', paused_reason = :reason, paused_at = :now, next_probe_at = :probeAt, probes = 0,
         alarm = iif(mode = 'mcp', 'none', 'paused'), version = version + 1
     WHERE id = :id AND status = 'active' AND deleted_at IS NULL
     RETURNING tenant_id, mode, settings, version, consecutive_failures`,
  );
  // One that is paused already goes on being held since when it was, and is no longer resumed by itself.
  const holdByHand = db.prepare<[string]>(
    `UPDATE webhook_endpoints SET paused_reason = 'manual', next_probe_at = NULL, version = version + 1
     WHERE id = ? AND status = 'paused' AND paused_reason <> 'manual' AND deleted_at IS NULL`,
  );
  const activate = db.prepare<[string]>(
    `UPDATE webhook_endpoints
     SET status = 'active', paused_reason = NULL, paused_at = NULL, next_probe_at = NULL, probes = 0, version = version + 1
     WHERE id = ? AND status = 'paused' AND deleted_at IS NULL`,
  );
  const planProbe = db.prepare<Record<string, unknown>[]>(
    `UPDATE webhook_endpoints SET next_probe_at = iif(:probeAt IS NULL, NULL, ifnull(next_probe_at, :probeAt))
     WHERE id = :id AND status = 'paused' AND paused_reason = 'failures'`,
  );
  const clearCount = db.prepare<[string]>(
    'UPDATE webhook_endpoints SET consecutive_failures = 0 WHERE id = ?',
  );
  const releaseRetries = db.prepare<[number, string, number, number]>(
    `UPDATE deliveries SET next_attempt_at = ? WHERE id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_due
       WHERE endpoint_id = ? AND status IN ('pending', 'retrying') AND next_attempt_at > ?
       ORDER BY next_attempt_at LIMIT ?)`,
  );

  return {
    /** Pauses an active endpoint, and writes the owner's mail where it was not asked for. False where it was not active. */
    pause(id: string, now: number, { reason, probeAt }: Pause): boolean {
      const row = pause.get({ id, now, reason, probeAt });
      if (row === undefined) return false;
      // A subscription's client sees to it, and the account's owner has no such endpoint.
      if (row.mode === 'mcp') return true;
      const { label, url } = JSON.parse(row.settings) as { label: string; url: string };
      const mail = pauseMail({ id, tenantId: row.tenant_id, version: row.version, label, url }, reason, now);
      if (mail !== null) addMail(mail);
      const failures = row.consecutive_failures;
      const facts = {
        reason,
        consecutive_failures: failures,
        previous: stateAfter(failures),
        current: 'paused',
      };
      addNotice({ tenantId: row.tenant_id, type: 'endpoint.paused', endpointId: id, facts });
      return true;
    },
    holdByHand: (id: string): boolean => holdByHand.run(id).changes === 1,
    /** Ends a pause; the backlog is due as its rows say, see {@link releaseRetries}. False where it was not paused. */
    activate(id: string, { clearFailures }: { clearFailures: boolean }): boolean {
      if (activate.run(id).changes === 0) return false;
      if (clearFailures) clearCount.run(id);
      return true;
    },
    /** While paused after failures: has it probed from `probeAt` on, unless a probe is planned already, or never (null). */
    planProbe: (id: string, probeAt: number | null): void => void planProbe.run({ id, probeAt }),
    /** Makes up to `limit` retries due that were planned for later; how many there were. */
    releaseRetries: (id: string, now: number, limit: number): number =>
      releaseRetries.run(now, id, now, limit).changes,
  };
}
