import type { Connection } from './connection.ts';
import { auditReads, keyReads, sessionReads, teamReads, tenantReads } from './reads/accounts.ts';
import { campaignEventReads, campaignReads } from './reads/campaigns.ts';
import { companyReads, companySignalReads } from './reads/companies.ts';
import { countReads } from './reads/counts.ts';
import { deliveryPageReads, deliveryReads } from './reads/deliveries.ts';
import {
  backfillReads,
  createReceiverCache,
  endpointReads,
  noticeReads,
  receiverReads,
  subscriptionReads,
} from './reads/endpoints.ts';
import { erasureReads } from './reads/erasure.ts';
import { batchReads, eventReads, feedReads } from './reads/events.ts';
import { jobReads } from './reads/jobs.ts';
import { laneReads } from './reads/lanes.ts';
import { boardReads, leadListReads } from './reads/lead-list.ts';
import { leadReads, leadSignalReads } from './reads/leads.ts';
import { digestReads, mailReads } from './reads/mail.ts';
import { profileReads } from './reads/profiles.ts';
import { signalListReads } from './reads/signal-list.ts';
import { signalReads, storedSignalReads } from './reads/signals.ts';
import { sourceReads } from './reads/sources.ts';

/** Every question to the database by name. `receivers` is what several connections share. */
export function createReads(db: Connection, receivers = createReceiverCache()) {
  return {
    ...tenantReads(db),
    ...sessionReads(db),
    ...teamReads(db),
    ...auditReads(db),
    ...keyReads(db),
    ...profileReads(db),
    ...signalReads(db),
    ...signalListReads(db),
    ...storedSignalReads(db),
    ...leadReads(db),
    ...leadListReads(db),
    ...boardReads(db),
    ...erasureReads(db),
    ...leadSignalReads(db),
    ...campaignReads(db),
    ...campaignEventReads(db),
    ...companyReads(db),
    ...companySignalReads(db),
    ...endpointReads(db),
    ...receiverReads(db, receivers),
    ...subscriptionReads(db),
    ...noticeReads(db),
    ...backfillReads(db),
    ...eventReads(db),
    ...feedReads(db),
    ...batchReads(db),
    ...deliveryReads(db),
    ...deliveryPageReads(db),
    ...laneReads(db),
    ...countReads(db),
    ...jobReads(db),
    ...mailReads(db),
    ...digestReads(db),
    ...sourceReads(db),
  };
}
