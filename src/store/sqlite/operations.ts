import type { Database } from 'better-sqlite3';
import { accountOperations } from './operations/accounts.ts';
import { campaignOperations } from './operations/campaigns.ts';
import { companyOperations } from './operations/companies.ts';
import { deliveryOperations } from './operations/deliveries.ts';
import { deliveryControlOperations } from './operations/delivery-control.ts';
import { endpointOperations } from './operations/endpoints.ts';
import { erasureOperations } from './operations/erasure.ts';
import { idempotencyOperations } from './operations/idempotency.ts';
import { keyOperations } from './operations/keys.ts';
import { leadOperations } from './operations/leads.ts';
import { mailOperations } from './operations/mail.ts';
import { planOperations } from './operations/plans.ts';
import { profileOperations } from './operations/profiles.ts';
import { signalOperations } from './operations/signals.ts';
import { sourceOperations } from './operations/sources.ts';

/**
 * Every change of the database by name: each runs inside a transaction that the writer opened, and takes and returns
 * plain data, so that it can run in another thread.
 */
export function createOperations(db: Database) {
  return {
    ...accountOperations(db),
    ...keyOperations(db),
    ...profileOperations(db),
    ...signalOperations(db),
    ...leadOperations(db),
    ...erasureOperations(db),
    ...campaignOperations(db),
    ...companyOperations(db),
    ...endpointOperations(db),
    ...deliveryOperations(db),
    ...deliveryControlOperations(db),
    ...planOperations(db),
    ...mailOperations(db),
    ...idempotencyOperations(db),
    ...sourceOperations(db),
  };
}

export type Operations = ReturnType<typeof createOperations>;
