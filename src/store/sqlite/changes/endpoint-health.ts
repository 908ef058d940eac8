import type { Database } from 'better-sqlite3';
import type { Outcome } from '../../../model/delivery.ts';
import { afterProbe, pauseAfterFailure } from '../../../rules/endpoint-pause.ts';
import { createEndpointState } from './endpoint-state.ts';
import { createProbeSchedule } from './probes.ts';

/** What an outcome that counts does to its endpoint, as part of the same commit. */
export function createEndpointHealth(db: Database): (outcome: Omit<Outcome, 'attempt' | 'next'>) => void {
  const addFailure = db.prepare<[string], { failures: number; autoResume: number }>(
    `UPDATE webhook_endpoints SET consecutive_failures = consecutive_failures + 1 WHERE id = ?
     RETURNING consecutive_failures AS failures, settings ->> '$.auto_resume' AS autoResume`,
  );
  // The condition saves the write in the common case, success after success.
  const resetFailures = db.prepare<[string]>(
    'UPDATE webhook_endpoints SET consecutive_failures = 0 WHERE id = ? AND consecutive_failures <> 0',
  );
  const state = createEndpointState(db);
  const probes = createProbeSchedule(db);

  function settleProbe(outcome: Pick<Outcome, 'endpointId' | 'streak' | 'gone' | 'at'>): void {
    const { endpointId } = outcome;
    const next = afterProbe(outcome, probes.made(endpointId));
    if (next.step === 'activate') state.activate(endpointId, { clearFailures: true });
    else if (next.step === 'end_probes') probes.giveUp(endpointId);
    else if (next.step === 'probe_again') probes.plan(endpointId, next.at);
  }

  return (outcome) => {
    const { endpointId, streak, at } = outcome;
    if (outcome.probe) settleProbe(outcome);
    if (streak === 'reset') resetFailures.run(endpointId);
    if (streak !== 'add') return;
    const { failures = 0, autoResume = 0 } = addFailure.get(endpointId) ?? {};
    const pause = pauseAfterFailure(outcome, { failures, autoResume: autoResume === 1 });
    if (pause !== null) state.pause(endpointId, at, pause);
  };
}
