import type { Database } from 'better-sqlite3';
import type { Outcome } from '../../../model/delivery.ts';
import { afterProbe, failingMail, pauseAfterFailure, warningAt } from '../../../rules/endpoint-pause.ts';
import { createEndpointState } from './endpoint-state.ts';
import { createMailWriter } from './mail.ts';
import { createNoticeWriter } from './notices.ts';
import { createProbeSchedule } from './probes.ts';

interface FailingRow {
  failures: number;
  autoResume: number;
  tenantId: string;
  label: string;
  url: string;
  version: number;
  /** Whether it is one of the tenant's own that is not paused. */
  isWatched: number;
}

/** What an outcome that counts does to its endpoint, as part of the same commit. */
export function createEndpointHealth(db: Database): (outcome: Omit<Outcome, 'attempt' | 'next'>) => void {
  const addFailure = db.prepare<[string], FailingRow>(
    `UPDATE webhook_endpoints SET consecutive_failures = consecutive_failures + 1 WHERE id = ?
     RETURNING consecutive_failures AS failures, settings ->> '$.auto_resume' AS autoResume, tenant_id AS tenantId,
       settings ->> '$.label' AS label, settings ->> '$.url' AS url, version,
       status = 'active' AND deleted_at IS NULL AND mode <> 'mcp' AS isWatched`,
  );
  // The condition saves the write in the common case, success after success.
  const resetFailures = db.prepare<[string]>(
    'UPDATE webhook_endpoints SET consecutive_failures = 0 WHERE id = ? AND consecutive_failures <> 0',
  );
  const selectAlarm = db.prepare<[string], { tenantId: string; alarm: string }>(
    `SELECT tenant_id AS tenantId, alarm FROM webhook_endpoints
     WHERE id = ? AND alarm <> 'none' AND status = 'active' AND deleted_at IS NULL`,
  );
  const setAlarm = db.prepare<[string, string]>('UPDATE webhook_endpoints SET alarm = ? WHERE id = ?');
  const state = createEndpointState(db);
  const probes = createProbeSchedule(db);
  const addNotice = createNoticeWriter(db);
  const addMail = createMailWriter(db);

  function settleProbe(outcome: Pick<Outcome, 'endpointId' | 'streak' | 'gone' | 'at'>): void {
    const { endpointId } = outcome;
    const next = afterProbe(outcome, probes.made(endpointId));
    if (next.step === 'activate') state.activate(endpointId, { clearFailures: true });
    else if (next.step === 'end_probes') probes.giveUp(endpointId);
    else if (next.step === 'probe_again') probes.plan(endpointId, next.at);
  }

  function recover(endpointId: string): void {
    const row = selectAlarm.get(endpointId);
    if (row === undefined) return;
    setAlarm.run('none', endpointId);
    const facts = { previous: row.alarm, current: 'active' };
    addNotice({ tenantId: row.tenantId, type: 'endpoint.recovered', endpointId, facts });
  }

  function warn(endpointId: string, row: FailingRow, at: number): void {
    const warning = row.isWatched === 1 ? warningAt(row.failures) : null;
    if (warning === null) return;
    const { facts, byMail } = warning;
    setAlarm.run('failing', endpointId);
    addNotice({ tenantId: row.tenantId, type: 'endpoint.failing', endpointId, facts: { ...facts } });
    if (byMail) addMail(failingMail({ id: endpointId, ...row }, facts, at));
  }

  return (outcome) => {
    const { endpointId, streak, at } = outcome;
    if (outcome.probe) settleProbe(outcome);
    if (streak === 'reset') {
      resetFailures.run(endpointId);
      recover(endpointId);
    }
    if (streak !== 'add') return;
    const row = addFailure.get(endpointId);
    if (row === undefined) return;
    const { failures, autoResume } = row;
    const pause = pauseAfterFailure(outcome, { failures, autoResume: autoResume === 1 });
    if (pause !== null) state.pause(endpointId, at, pause);
    else warn(endpointId, row, at);
  };
}
