import { describe, expect, test } from 'vitest';
import type { CampaignEventWindow } from '../../../src/store/campaign-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { aCampaign, aCampaignEvent } from '../../support/campaigns.ts';
import { aLead, aLeadUpdate, aNewLead } from '../../support/leads.ts';
import { aRoutedEvent, T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const ALL: CampaignEventWindow = { from: 0, to: T0 * 2, after: null, limit: 100 };

/** The recipient number of each event of `cam_1`, by event key. */
async function recipientsOf(store: Store): Promise<Record<string, number>> {
  const rows = await store.listCampaignEvents('cam_1', ALL);
  return Object.fromEntries(rows.map(({ key, recipient }) => [key, recipient]));
}

async function openWithCampaign(open: OpenStore) {
  const opened = await openWithTenants(open);
  const campaign = aCampaign('ten_a');
  await opened.store.createCampaign(campaign, []);
  return { ...opened, campaign };
}

export function describeCampaigns(open: OpenStore): void {
  describe('campaigns', () => {
    test('returns a campaign as stored to its tenant only, with the events of its creation', async () => {
      const { store } = await openWithTenants(open);
      const campaign = aCampaign('ten_a', {
        settings: {
          description: 'A',
          channel: 'sms',
          steps: [{ step: 1, name: 'Intro' }],
          starts_at: '2026-01-01T00:00:00.000Z',
          ends_at: null,
        },
        completedAt: T0 + 5,
      });
      await store.createCampaign(campaign, [aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: ['dlv_1'] })]);
      expect(await store.getCampaign('ten_a', 'cam_1')).toEqual(campaign);
      expect(await store.getCampaign('ten_b', 'cam_1')).toBeNull();
      expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({ status: 'pending' });
    });

    test('a change applies only to the version it is based on, and stores its events only then', async () => {
      const { store, campaign } = await openWithCampaign(open);
      const change = (status: 'paused' | 'completed', deliveryId: string) =>
        store.updateCampaign({ ...campaign, status, version: 2 }, 1, [
          aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: [deliveryId] }),
        ]);
      expect(await Promise.all([change('paused', 'dlv_1'), change('completed', 'dlv_2')])).toEqual([
        true,
        false,
      ]);
      expect(await store.getCampaign('ten_a', 'cam_1')).toMatchObject({ status: 'paused', version: 2 });
      expect(await store.getDelivery('ten_a', 'dlv_1')).not.toBeNull();
      expect(await store.getDelivery('ten_a', 'dlv_2')).toBeNull();
    });

    test("a tenant cannot change another's campaign", async () => {
      const { store, campaign } = await openWithCampaign(open);
      const stolen = { ...campaign, tenantId: 'ten_b', name: 'Mine', version: 2 };
      expect(await store.updateCampaign(stolen, 1, [])).toBe(false);
      expect(await store.getCampaign('ten_a', 'cam_1')).toEqual(campaign);
    });

    test("pages contain one tenant's campaigns, newest first, filtered by status", async () => {
      const { store } = await openWithTenants(open);
      for (const [index, status] of (['draft', 'active', 'active', 'paused'] as const).entries()) {
        const id = `cam_${index}`;
        await store.createCampaign(
          aCampaign('ten_a', { id, status, createdAt: T0 + Math.min(index, 2) }),
          [],
        );
      }
      await store.createCampaign(aCampaign('ten_b', { id: 'cam_b' }), []);
      const page = async (query: Partial<Parameters<Store['listCampaigns']>[1]>) => {
        const { rows, last } = await store.listCampaigns('ten_a', {
          statuses: [],
          limit: 2,
          after: null,
          ...query,
        });
        return [rows.map(({ id }) => id), last];
      };
      expect(await page({})).toEqual([
        ['cam_3', 'cam_2'],
        [T0 + 2, 'cam_2'],
      ]);
      expect(await page({ after: [T0 + 2, 'cam_2'] })).toEqual([['cam_1', 'cam_0'], null]);
      expect(await page({ statuses: ['active'] })).toEqual([['cam_2', 'cam_1'], null]);
      expect(await page({ statuses: ['draft', 'paused'], limit: 1 })).toEqual([['cam_3'], [T0 + 2, 'cam_3']]);
      expect(await page({ statuses: ['completed'] })).toEqual([[], null]);
      expect(await page({ statuses: ['active', 'draft', 'paused', 'active'] })).toEqual([
        ['cam_3', 'cam_2'],
        [T0 + 2, 'cam_2'],
      ]);
      expect(await page({ statuses: ['active', 'draft'], after: [T0 + 2, 'cam_2'] })).toEqual([
        ['cam_1', 'cam_0'],
        null,
      ]);
    });

    test('a long page is read in parts, between which other work runs', async () => {
      const { store } = await openWithTenants(open);
      const ids = Array.from({ length: 60 }, (_, n) => `cam_${10 + n}`);
      for (const [n, id] of ids.entries())
        await store.createCampaign(
          aCampaign('ten_a', { id, status: n % 2 === 0 ? 'draft' : 'paused', createdAt: T0 + (n >> 3) }),
          [],
        );
      let turn = 0;
      setImmediate(() => turn++);
      const query = { statuses: ['draft' as const, 'paused' as const] };
      const { rows, last } = await store.listCampaigns('ten_a', { ...query, limit: 55, after: null });
      expect(turn).toBe(1);
      expect(rows.map(({ id }) => id)).toEqual(ids.slice(5).reverse());
      const rest = await store.listCampaigns('ten_a', { ...query, limit: 55, after: last });
      expect(rest.rows.map(({ id }) => id)).toEqual(ids.slice(0, 5).reverse());
      expect(rest.last).toBeNull();
    });
  });

  describe('events of a campaign', () => {
    test('stores an event once, and its resulting events once', async () => {
      const { store, campaign } = await openWithCampaign(open);
      const caused = (deliveryId: string) => [
        aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: [deliveryId] }),
      ];
      const first = aCampaignEvent('k1', {
        type: 'replied',
        step: 2,
        replyClass: 'interested',
        events: caused('dlv_1'),
      });
      const again = aCampaignEvent('k1', { type: 'bounced', occurredAt: T0 + 9, events: caused('dlv_2') });
      expect(await store.recordCampaignEvents(campaign, [first, again])).toEqual(['created', 'duplicate']);
      expect(await store.recordCampaignEvents(campaign, [again])).toEqual(['duplicate']);
      expect(await store.listCampaignEvents('cam_1', ALL)).toEqual([
        {
          occurredAt: T0,
          key: 'k1',
          type: 'replied',
          recipient: 0,
          step: 2,
          replyClass: 'interested',
          auto: false,
        },
      ]);
      expect(await store.getDelivery('ten_a', 'dlv_1')).not.toBeNull();
      expect(await store.getDelivery('ten_a', 'dlv_2')).toBeNull();
    });

    test('the same ID in another campaign is a separate event', async () => {
      const { store, campaign } = await openWithCampaign(open);
      const other = aCampaign('ten_a', { id: 'cam_2' });
      await store.createCampaign(other, []);
      const event = aCampaignEvent('k1');
      expect(await store.recordCampaignEvents(campaign, [event])).toEqual(['created']);
      expect(await store.recordCampaignEvents(other, [event])).toEqual(['created']);
    });

    test('a lead and its address count as one recipient, in any combination', async () => {
      const { store, campaign } = await openWithCampaign(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1', { email: 'ann@acme.com' })));
      await store.recordCampaignEvents(campaign, [
        aCampaignEvent('by-email'),
        aCampaignEvent('by-lead', { leadId: 'led_1', email: null }),
        aCampaignEvent('by-both', { leadId: 'led_1', email: 'ann@home.net' }),
        aCampaignEvent('by-second-address', { email: 'ann@home.net' }),
        aCampaignEvent('another', { email: 'bob@acme.com' }),
      ]);
      expect(await recipientsOf(store)).toEqual({
        'by-email': 0,
        'by-lead': 0,
        'by-both': 0,
        'by-second-address': 0,
        another: 1,
      });
    });

    test('a recipient stays the same if the lead is created or changes address in between', async () => {
      const { store, campaign } = await openWithCampaign(open);
      await store.recordCampaignEvents(campaign, [aCampaignEvent('before')]);
      await store.commitLead(aNewLead('ten_a', aLead('led_1', { email: 'ann@acme.com' })));
      await store.recordCampaignEvents(campaign, [aCampaignEvent('known', { leadId: 'led_1', email: null })]);
      const moved = aLead('led_1', { email: 'ann@new.com' });
      await store.commitLead(aLeadUpdate('ten_a', moved, { keys: ['email:ann@new.com'] }));
      await store.recordCampaignEvents(campaign, [
        aCampaignEvent('moved', { email: 'ann@new.com' }),
        aCampaignEvent('old-address'),
      ]);
      expect(new Set(Object.values(await recipientsOf(store)))).toEqual(new Set([0]));
    });

    test('does not store an event of an unknown lead', async () => {
      const { store, campaign } = await openWithCampaign(open);
      await store.commitLead(aNewLead('ten_b', aLead('led_b')));
      const events = [
        aCampaignEvent('k1', {
          leadId: 'led_b',
          events: [aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: ['dlv_1'] })],
        }),
        aCampaignEvent('k2', { leadId: 'led_none', email: null }),
      ];
      expect(await store.recordCampaignEvents(campaign, events)).toEqual(['unknown_lead', 'unknown_lead']);
      expect(await store.listCampaignEvents('cam_1', ALL)).toEqual([]);
      expect(await store.getDelivery('ten_a', 'dlv_1')).toBeNull();
    });

    test('completes people from leads', async () => {
      const { store } = await openWithCampaign(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1', { email: 'ann@acme.com' })));
      await store.commitLead(aNewLead('ten_b', aLead('led_b', { email: 'bob@acme.com' })));
      const people = [
        { leadId: 'led_1', email: null },
        { leadId: null, email: 'ann@acme.com' },
        { leadId: 'led_1', email: 'ann@home.net' },
        { leadId: null, email: 'bob@acme.com' },
        { leadId: 'led_b', email: null },
      ];
      expect(await store.completePeople('ten_a', people)).toEqual([
        { leadId: 'led_1', email: 'ann@acme.com' },
        { leadId: 'led_1', email: 'ann@acme.com' },
        { leadId: 'led_1', email: 'ann@home.net' },
        { leadId: null, email: 'bob@acme.com' },
        { leadId: 'led_b', email: null },
      ]);
    });

    test('the time span of a campaign reaches from its first to its last event', async () => {
      const { store, campaign } = await openWithCampaign(open);
      expect(await store.getCampaignSpan('cam_1')).toBeNull();
      await store.recordCampaignEvents(campaign, [
        aCampaignEvent('k1', { occurredAt: T0 + 3 }),
        aCampaignEvent('k2', { occurredAt: T0 - 4 }),
        aCampaignEvent('k3', { occurredAt: T0 }),
      ]);
      expect(await store.getCampaignSpan('cam_1')).toEqual({ first: T0 - 4, last: T0 + 3 });
    });

    test('reads a half-open window in order of time, each event once', async () => {
      const { store, campaign } = await openWithCampaign(open);
      const times = [5, 3, 3, 3, 1, 9, 0];
      await store.recordCampaignEvents(
        campaign,
        times.map((at, index) => aCampaignEvent(`k${index}`, { occurredAt: T0 + at })),
      );
      const seen: [number, string][] = [];
      let after: CampaignEventWindow['after'] = null;
      do {
        const window = { from: T0 + 1, to: T0 + 9, after, limit: 2 };
        const rows: Awaited<ReturnType<Store['listCampaignEvents']>> = await store.listCampaignEvents(
          'cam_1',
          window,
        );
        seen.push(...rows.map((row): [number, string] => [row.occurredAt - T0, row.key]));
        after = rows.at(-1) ?? null;
      } while (after !== null);
      expect(seen).toEqual([
        [1, 'k4'],
        [3, 'k1'],
        [3, 'k2'],
        [3, 'k3'],
        [5, 'k0'],
      ]);
    });
  });
}
