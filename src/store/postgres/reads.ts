import type { Store } from '../store.ts';
import type { Connection } from './connection.ts';
import { auditReads, keyReads, sessionReads, teamReads, tenantReads } from './reads/accounts.ts';
import { campaignEventReads, campaignReads } from './reads/campaigns.ts';
import { companyReads } from './reads/companies.ts';
import { backfillReads, endpointReads, noticeReads, subscriptionReads } from './reads/endpoints.ts';
import { batchReads, eventReads, feedReads } from './reads/events.ts';
import { jobReads } from './reads/jobs.ts';
import { leadReads, leadSignalReads } from './reads/leads.ts';
import { digestReads, mailReads } from './reads/mail.ts';
import { profileReads } from './reads/profiles.ts';
import { signalReads, storedSignalReads } from './reads/signals.ts';
import { sourceReads } from './reads/sources.ts';

/** The questions to the database that are answered so far. */
export function createReads(db: Connection): Partial<Store> {
  return {
    ...tenantReads(db),
    ...sessionReads(db),
    ...teamReads(db),
    ...auditReads(db),
    ...keyReads(db),
    ...profileReads(db),
    ...signalReads(db),
    ...storedSignalReads(db),
    ...leadReads(db),
    ...leadSignalReads(db),
    ...campaignReads(db),
    ...campaignEventReads(db),
    ...companyReads(db),
    ...endpointReads(db),
    ...subscriptionReads(db),
    ...noticeReads(db),
    ...backfillReads(db),
    ...eventReads(db),
    ...feedReads(db),
    ...batchReads(db),
    ...jobReads(db),
    ...mailReads(db),
    ...digestReads(db),
    ...sourceReads(db),
  };
}
