import { describe } from 'vitest';
import { describeAccounts } from './accounts.ts';
import { describeCampaigns } from './campaigns.ts';
import { describeCompanies } from './companies.ts';
import { describeDeliveries } from './deliveries.ts';
import { describeDeliveryLog } from './delivery-log.ts';
import { describeEndpointChanges } from './endpoint-changes.ts';
import { describeEndpoints } from './endpoints.ts';
import { describeErasure } from './erasure.ts';
import { describeEvents } from './events.ts';
import { describeIdempotency } from './idempotency.ts';
import { describeKeys } from './keys.ts';
import { describeLeadList } from './lead-list.ts';
import { describeLeads } from './leads.ts';
import { describeLeases } from './leases.ts';
import { describeMail } from './mail.ts';
import { describePausing } from './pausing.ts';
import { describeProbing } from './probing.ts';
import { describeProfiles } from './profiles.ts';
import { describeReplay } from './replay.ts';
import { describeRetention } from './retention.ts';
import { describeSignalList } from './signal-list.ts';
import { describeSignalSearch } from './signal-search.ts';
import { describeSignals } from './signals.ts';
import { describeSourceRuns } from './source-runs.ts';
import { describeSources } from './sources.ts';
import type { OpenStore } from './under-test.ts';

/** What every driver must do, whatever database is behind it. */
export function describeStore(driver: string, open: OpenStore): void {
  describe(`store on ${driver}`, () => {
    describeAccounts(open);
    describeKeys(open);
    describeProfiles(open);
    describeSignals(open);
    describeSignalList(open);
    describeSignalSearch(open);
    describeLeads(open);
    describeLeadList(open);
    describeErasure(open);
    describeCampaigns(open);
    describeCompanies(open);
    describeEndpoints(open);
    describeDeliveries(open);
    describeLeases(open);
    describeProbing(open);
    describeEndpointChanges(open);
    describePausing(open);
    describeDeliveryLog(open);
    describeReplay(open);
    describeRetention(open);
    describeMail(open);
    describeIdempotency(open);
    describeSources(open);
    describeSourceRuns(open);
    describeEvents(open);
  });
}
