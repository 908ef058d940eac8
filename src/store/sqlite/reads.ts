import type { Database } from 'better-sqlite3';
import { auditReads } from './reads/audit.ts';
import { backfillReads } from './reads/backfills.ts';
import { batchReads } from './reads/batches.ts';
import { boardReads } from './reads/board.ts';
import { campaignEventReads } from './reads/campaign-events.ts';
import { campaignReads } from './reads/campaigns.ts';
import { companyReads } from './reads/companies.ts';
import { companySignalReads } from './reads/company-signals.ts';
import { deliveryReads } from './reads/deliveries.ts';
import { digestReads } from './reads/digests.ts';
import { endpointReads } from './reads/endpoints.ts';
import { erasureReads } from './reads/erasure.ts';
import { eventReads } from './reads/events.ts';
import { feedReads } from './reads/feeds.ts';
import { jobReads } from './reads/jobs.ts';
import { createKeptReads } from './reads/kept.ts';
import { keptTenantReads } from './reads/kept-tenants.ts';
import { keyReads } from './reads/keys.ts';
import { laneReads } from './reads/lanes.ts';
import { leadSignalReads } from './reads/lead-signals.ts';
import { leadReads } from './reads/leads.ts';
import { mailReads } from './reads/mail.ts';
import { noticeReads } from './reads/notices.ts';
import { profileReads } from './reads/profiles.ts';
import { receiverReads } from './reads/receivers.ts';
import { sessionReads } from './reads/sessions.ts';
import { signalReads } from './reads/signals.ts';
import { sourceReads } from './reads/sources.ts';
import { storageReads } from './reads/storage.ts';
import { subscriptionReads } from './reads/subscriptions.ts';
import { teamReads } from './reads/team.ts';
import { tenantReads } from './reads/tenants.ts';

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
