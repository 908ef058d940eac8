import {
  type AccountStatements,
  keyChanges,
  sessionChanges,
  teamChanges,
  tenantChanges,
} from './changes/accounts.ts';
import { campaignChanges } from './changes/campaigns.ts';
import { type ClaimStatements, claimChanges, inHandChanges } from './changes/claims.ts';
import { companyChanges } from './changes/companies.ts';
import {
  type DeliveryStatements,
  outcomeChanges,
  replayChanges,
  retentionChanges,
  testSendChanges,
} from './changes/deliveries.ts';
import { endpointChanges, subscriptionChanges } from './changes/endpoints.ts';
import { type ErasureStatements, erasureChanges } from './changes/erasure.ts';
import { backfillChanges, batchChanges, noticeChanges, remainderChanges } from './changes/events.ts';
import { createKnownSignalSearch } from './changes/known-signals.ts';
import { leadChanges } from './changes/leads.ts';
import { digestChanges, mailChanges } from './changes/mail.ts';
import { type ProcessStatements, processChanges } from './changes/processes.ts';
import { profileChanges } from './changes/profiles.ts';
import {
  auditChanges,
  idempotencyChanges,
  type JobStatements,
  jobChanges,
  keptStepChanges,
} from './changes/requests.ts';
import { createSignalWriter, signalChanges } from './changes/signals.ts';
import { type SourceStatements, sourceChanges, sourceRunChanges } from './changes/sources.ts';
import type { Asks, Result } from './script.ts';

/** Every statement that changes use: the interface of a driver. */
export interface StoreStatements
  extends AccountStatements,
    ClaimStatements,
    DeliveryStatements,
    ErasureStatements,
    JobStatements,
    ProcessStatements,
    SourceStatements {}

/**
 * Every change of the store by name, as a script: each runs inside a transaction of the driver, and takes and returns
 * plain data, so that it can run in another thread or process.
 */
export function createChanges(ask: Asks<StoreStatements>) {
  // Shared by all changes, so that its cache of texts is, too.
  const findKnown = createKnownSignalSearch(ask);
  const writeSignal = createSignalWriter(ask, findKnown);
  const signals = signalChanges(ask, writeSignal);
  const changes = {
    ...tenantChanges(ask),
    ...sessionChanges(ask),
    ...teamChanges(ask),
    ...keyChanges(ask),
    ...profileChanges(ask),
    ...signals,
    ...inHandChanges(ask, signals),
    ...leadChanges(ask, { findKnown, writeSignal }),
    ...erasureChanges(ask),
    ...campaignChanges(ask),
    ...companyChanges(ask),
    ...endpointChanges(ask),
    ...claimChanges(ask),
    ...outcomeChanges(ask),
    ...replayChanges(ask),
    ...retentionChanges(ask),
    ...testSendChanges(ask),
    ...jobChanges(ask),
    ...mailChanges(ask),
    ...noticeChanges(ask),
    ...remainderChanges(ask),
    ...digestChanges(ask),
    ...backfillChanges(ask),
    ...batchChanges(ask),
    ...idempotencyChanges(ask),
    ...sourceChanges(ask),
    ...sourceRunChanges(ask, signals),
    ...subscriptionChanges(ask),
    ...processChanges(ask),
  };
  const audit = auditChanges(ask, changes);
  return { ...changes, ...audit, ...keptStepChanges(ask, changes, audit.makeDone) };
}

/** The changes as scripts. */
export type ChangeScripts = ReturnType<typeof createChanges>;

/** The changes as a driver runs them. */
export type Changes = {
  [K in keyof ChangeScripts]: (...args: Parameters<ChangeScripts[K]>) => Result<ReturnType<ChangeScripts[K]>>;
};

/** A change by name, with its arguments. */
export type NamedChange = [name: keyof Changes, args: Parameters<Changes[keyof Changes]>];
