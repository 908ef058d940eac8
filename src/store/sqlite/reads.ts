import type { Database } from 'better-sqlite3';
import { auditReads, keyReads, sessionReads, teamReads, tenantReads } from './reads/accounts.ts';
import { campaignEventReads, campaignReads } from './reads/campaigns.ts';
import { companyReads, companySignalReads } from './reads/companies.ts';
import { storageReads } from './reads/counts.ts';
import { deliveryReads, laneReads } from './reads/deliveries.ts';
import {
  backfillReads,
  endpointReads,
  noticeReads,
  receiverReads,
  subscriptionReads,
} from './reads/endpoints.ts';
import { erasureReads } from './reads/erasure.ts';
import { batchReads, eventReads, feedReads } from './reads/events.ts';
import { jobReads } from './reads/jobs.ts';
import { createKeptReads, keptTenantReads } from './reads/kept.ts';
import { boardReads, leadReads, leadSignalReads } from './reads/leads.ts';
import { digestReads, mailReads } from './reads/mail.ts';
import { profileReads } from './reads/profiles.ts';
import { signalReads } from './reads/signals.ts';
import { sourceReads } from './reads/sources.ts';

/** Every question to the database by name, answered at once from what is committed. */
export function createReads(db: Database) {
  const reads = {
    ...tenantReads(db),
    ...sessionReads(db),
    ...teamReads(db),
    ...auditReads(db),
    ...keyReads(db),
    ...profileReads(db),
    ...signalReads(db),
    ...leadReads(db),
    ...leadSignalReads(db),
    ...boardReads(db),
    ...erasureReads(db),
    ...campaignReads(db),
    ...campaignEventReads(db),
    ...companyReads(db),
    ...companySignalReads(db),
    ...endpointReads(db),
    ...receiverReads(db),
    ...eventReads(db),
    ...feedReads(db),
    ...deliveryReads(db),
    ...laneReads(db),
    ...jobReads(db),
    ...mailReads(db),
    ...noticeReads(db),
    ...digestReads(db),
    ...backfillReads(db),
    ...batchReads(db),
    ...sourceReads(db),
    ...subscriptionReads(db),
    ...storageReads(db),
  };
  return { ...reads, ...keptTenantReads(createKeptReads(db), reads) };
}
