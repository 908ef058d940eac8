import type { Database } from 'better-sqlite3';
import { auditChanges } from './changes/audit.ts';
import { backfillChanges } from './changes/backfills.ts';
import { batchChanges } from './changes/batches.ts';
import { campaignChanges } from './changes/campaigns.ts';
import { claimChanges } from './changes/claims.ts';
import { companyChanges } from './changes/companies.ts';
import { digestChanges } from './changes/digests.ts';
import { endpointChanges } from './changes/endpoints.ts';
import { erasureChanges } from './changes/erasure.ts';
import { idempotencyChanges } from './changes/idempotency.ts';
import { inHandChanges } from './changes/in-hand.ts';
import { jobChanges } from './changes/jobs.ts';
import { keptStepChanges } from './changes/kept-steps.ts';
import { keyChanges } from './changes/keys.ts';
import { leadChanges } from './changes/leads.ts';
import { mailChanges } from './changes/mail.ts';
import { noticeChanges } from './changes/notices.ts';
import { outcomeChanges } from './changes/outcomes.ts';
import { processChanges } from './changes/processes.ts';
import { profileChanges } from './changes/profiles.ts';
import { replayChanges } from './changes/replays.ts';
import { retentionChanges } from './changes/retention.ts';
import { sessionChanges } from './changes/sessions.ts';
import { createSignalWriter, signalChanges } from './changes/signals.ts';
import { sourceRunChanges } from './changes/source-runs.ts';
import { sourceChanges } from './changes/sources.ts';
import { storageChanges } from './changes/storage.ts';
import { subscriptionChanges } from './changes/subscriptions.ts';
import { teamChanges } from './changes/team.ts';
import { tenantChanges } from './changes/tenants.ts';
import { testSendChanges } from './changes/test-sends.ts';
import { createKnownSignal } from './reads/known-signals.ts';
import { createWriteAheadLog, type WriteAheadLog } from './write-ahead-log.ts';

/**
 * Every change of the database by name: each runs inside a transaction that the writer opened, and takes and returns
 * plain data, so that it can run in another thread. `log` is that of the transactions.
 */
export function createChanges(db: Database, log: WriteAheadLog = createWriteAheadLog(db)) {
  // One for all changes: the texts that it has read are kept once.
  const findKnown = createKnownSignal(db);
  const writeSignal = createSignalWriter(db, findKnown);
  const signals = signalChanges(db, writeSignal);
  const changes = {
    ...tenantChanges(db),
    ...sessionChanges(db),
    ...teamChanges(db),
    ...keyChanges(db),
    ...profileChanges(db),
    ...signals,
    ...inHandChanges(db, signals),
    ...leadChanges(db, { findKnown, writeSignal }),
    ...erasureChanges(db, log),
    ...campaignChanges(db),
    ...companyChanges(db),
    ...endpointChanges(db),
    ...claimChanges(db),
    ...outcomeChanges(db),
    ...replayChanges(db),
    ...retentionChanges(db),
    ...testSendChanges(db),
    ...jobChanges(db),
    ...mailChanges(db),
    ...noticeChanges(db),
    ...digestChanges(db),
    ...backfillChanges(db),
    ...batchChanges(db),
    ...idempotencyChanges(db),
    ...sourceChanges(db),
    ...sourceRunChanges(db, signals),
    ...subscriptionChanges(db),
    ...processChanges(db),
    ...storageChanges(db),
  };
  const audit = auditChanges(db, changes);
  return { ...changes, ...audit, ...keptStepChanges(db, changes, audit.makeDone) };
}

export type Changes = ReturnType<typeof createChanges>;
