import { describe, expect, test } from 'vitest';
import { aCampaign, aCampaignEvent } from '../../support/campaigns.ts';
import { aLead, aNewLead } from '../../support/leads.ts';
import { aSignal } from '../../support/store.ts';
import { anErasure, erase } from './erasure.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

export function describeStoredRows(open: OpenStore): void {
  describe('rows limited by plans', () => {
    test('are counted per tenant when stored and deleted', async () => {
      const { store } = await openWithTenants(open);
      expect(await store.countStored('ten_a')).toEqual({ signals: 0, leads: 0, campaignEvents: 0 });
      const signal = aSignal('ten_a', { id: 'sig_1', externalId: 'x' });
      await store.commitSignals([signal, { ...signal, id: 'sig_2' }]); // the second is a duplicate of the first
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      const campaign = aCampaign('ten_a');
      await store.createCampaign(campaign, []);
      await store.recordCampaignEvents(campaign, [
        aCampaignEvent('k1'),
        aCampaignEvent('k2'),
        aCampaignEvent('k2'),
      ]);
      expect(await store.countStored('ten_a')).toEqual({ signals: 1, leads: 1, campaignEvents: 2 });
      await erase(store, anErasure());
      expect(await store.countStored('ten_a')).toEqual({ signals: 1, leads: 0, campaignEvents: 2 });
      expect(await store.countStored('ten_b')).toEqual({ signals: 0, leads: 0, campaignEvents: 0 });
    });
  });
}
