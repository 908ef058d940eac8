import { describe, expect, test } from 'vitest';
import { nearKeys as nearKeysOf } from '../../../src/lib/near-text.ts';
import { defaultProfile } from '../../../src/model/icp.ts';
import { scopedNearKeys } from '../../../src/model/near-keys.ts';
import { aLead, aNewLead } from '../../support/leads.ts';
import { aRoutedEvent, aSignal, T0 } from '../../support/store.ts';
import { ANY } from './signal-list.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

export function describeSignals(open: OpenStore): void {
  describe('storing signals', () => {
    test('stores a new signal with its events and deliveries', async () => {
      const { store } = await openWithTenants(open);
      const signal = aSignal('ten_a', {
        events: [aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: ['dlv_1'] })],
      });
      expect(await store.commitSignals([signal])).toEqual([
        { status: 'created', id: signal.id, wire: signal.wire },
      ]);
      expect(await store.getSignal('ten_a', signal.id)).toEqual({
        wire: signal.wire,
        explanation: signal.explanation,
        text: signal.text,
      });
      expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({
        status: 'pending',
        endpointId: 'whk_a',
      });
    });

    test('an edited post is not a duplicate with a valid score', async () => {
      const { store } = await openWithTenants(open);
      const post = { externalId: 't3_1', platform: 'reddit', canonicalUrl: null, text: 'Any good CRM?' };
      const signal = aSignal('ten_a', { id: 'sig_a', ...post });
      await store.commitSignals([signal]);
      const again = aSignal('ten_a', { id: 'sig_b', ...post });
      const edited = { ...again, text: 'Any good CRM? Solved.' };
      const scoreless = { ...edited, externalId: null, canonicalUrl: null };
      expect(await store.findDuplicates([again, edited, scoreless])).toEqual([
        { id: 'sig_a', score: signal.score },
        null,
        null,
      ]);
    });

    test('the signals of a deleted profile do not become outdated', async () => {
      const { store } = await openWithTenants(open);
      for (const id of ['icp_1', 'icp_2'])
        await store.createProfile({ ...defaultProfile(id, 'ten_a', T0), name: id }, 10);
      const ofPost = { externalId: 'x1', wire: JSON.stringify({ external_id: 'x1' }), canonicalUrl: null };
      const signalOf = (profileId: string, id: string) => aSignal('ten_a', { ...ofPost, id, profileId });
      await store.commitSignals([signalOf('icp_1', 'sig_1'), signalOf('icp_2', 'sig_2')]);
      const edited = {
        ...signalOf('icp_1', 'sig_3'),
        text: 'An edited post.',
        asksForOutdated: true as const,
      };
      const { tenantId, platform, text } = edited;
      const outdated = async () => {
        const found = await store.findOutdatedSignals({
          ...{ tenantId, platform, text },
          ...{ shownId: 'x1', externalId: 'x1' },
        });
        const [committed] = await store.commitSignals([edited]);
        return [found, committed?.outdated ?? []].map((signals) => signals.map(({ id }) => id).sort());
      };
      expect(await outdated()).toEqual([
        ['sig_1', 'sig_2'],
        ['sig_1', 'sig_2'],
      ]);
      expect(await store.deleteProfile('ten_a', 'icp_2', T0)).toBe('deleted');
      expect(await outdated()).toEqual([['sig_1'], ['sig_1']]);
    });

    test('prunes near-duplicate keys by age, oldest first, in parts', async () => {
      const { store } = await openWithTenants(open);
      const wire = (id: string) =>
        JSON.stringify({
          signal_id: id,
          prospect: { name: 'Ann', email: '', linkedin_url: '' },
          platform: { name: 'x', posted_at: '' },
        });
      const wish = 'We look for a new CRM for our twelve vans, budget approved. Which one do you use?';
      const posted = (id: string, timestamp: number) =>
        aSignal('ten_a', { id, timestamp, text: wish, nearKeys: [1, 2, 3, 4, 5], wire: wire(id) });
      const statusOf = async (id: string, timestamp: number) =>
        (await store.commitSignals([posted(id, timestamp)])).map(({ status }) => status);
      expect(await statusOf('sig_1', T0)).toEqual(['created']);
      expect(await statusOf('sig_2', T0 + 1)).toEqual(['duplicate']);
      expect(await store.pruneNearKeys(T0, 10)).toBe(0);
      expect(await store.pruneNearKeys(T0 + 1, 3)).toBe(3);
      expect(await store.pruneNearKeys(T0 + 1, 3)).toBe(2);
      expect(await statusOf('sig_3', T0 + 2)).toEqual(['created']);
      expect(await store.pruneNearKeys(T0 + 2, 10)).toBe(0);
    });

    test('form letters that differ in a number are separate signals, each recognised again', async () => {
      const { store } = await openWithTenants(open);
      const wire = JSON.stringify({
        prospect: { name: 'Ann', email: '', linkedin_url: '' },
        platform: { name: 'x', posted_at: '' },
      });
      const letter = (vans: number) =>
        `We look for a new CRM for our ${vans} vans, budget approved. Which one do you use?`;
      const statusOf = async (vans: number) => {
        const posted = aSignal('ten_a', { text: letter(vans), nearKeys: [1, 2, 3, 4, 5], wire });
        return (await store.commitSignals([posted])).map(({ status }) => status);
      };
      for (const vans of [3, 4, 5, 6]) expect(await statusOf(vans)).toEqual(['created']);
      for (const vans of [4, 6, 3]) expect(await statusOf(vans)).toEqual(['duplicate']);
    });

    test('does not find a signal of another tenant', async () => {
      const opened = await openWithTenants(open);
      await opened.store.commitSignals([aSignal('ten_a', { id: 'sig_1' })]);
      expect(await opened.store.getSignal('ten_b', 'sig_1')).toBeNull();
    });

    test.each([
      ['external id', { externalId: 'p1' }],
      ['canonical URL', { canonicalUrl: 'https://example.com/p1' }],
    ])('a post with a known %s is a duplicate and creates no event', async (_, sameness) => {
      const { store } = await openWithTenants(open);
      const events = [aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: ['dlv_2'] })];
      const first = aSignal('ten_a', { id: 'sig_1', ...sameness });
      await store.commitSignals([first]);
      const again = aSignal('ten_a', { id: 'sig_2', ...sameness, events });
      expect(await store.commitSignals([again])).toEqual([
        { status: 'duplicate', id: 'sig_1', wire: first.wire },
      ]);
      expect(await store.getSignal('ten_a', 'sig_2')).toBeNull();
      expect(await store.getDelivery('ten_a', 'dlv_2')).toBeNull();
      expect(await store.listDueLanes()).toEqual([]);
    });

    test('detects duplicates within one call', async () => {
      const opened = await openWithTenants(open);
      const results = await opened.store.commitSignals([
        aSignal('ten_a', { id: 'sig_1', externalId: 'p1' }),
        aSignal('ten_a', { id: 'sig_2', externalId: 'p1' }),
        aSignal('ten_a', { id: 'sig_3' }),
      ]);
      expect(results.map((r) => [r.status, r.id])).toEqual([
        ['created', 'sig_1'],
        ['duplicate', 'sig_1'],
        ['created', 'sig_3'],
      ]);
    });

    test('signals of one call are compared with each other as with stored ones', async () => {
      const { store } = await openWithTenants(open);
      const wishes = [
        'a new CRM for our twelve vans',
        'a phone system for forty people',
        'help with our books',
      ];
      const signalsOf = (tenantId: string) =>
        Array.from({ length: 60 }, (_, i) => {
          const wish = `We look for ${wishes[i % 3]}, budget approved for number ${(i * 7) % 8}.`;
          const text = `${wish} Which one do you use, and why?`;
          const id = `sig_${tenantId}_${i}`;
          const profileId = i % 5 === 0 ? 'icp_ten_b' : 'icp_ten_a';
          const nearKeys = scopedNearKeys(nearKeysOf(text), { tenantId, profileId });
          const wire = JSON.stringify({
            ...{ signal_id: id, prospect: { name: 'Ann', email: '', linkedin_url: '' } },
            platform: { name: 'x', post_url: '', posted_at: '' },
          });
          return aSignal(tenantId, { id, timestamp: T0 + i, profileId, text, nearKeys, wire });
        });
      const all = signalsOf('ten_a');
      const together = [
        ...(await store.commitSignals(all.slice(0, 20))),
        ...(await store.commitSignals(all.slice(20))),
      ];
      const apart: typeof together = [];
      for (const signal of signalsOf('ten_b')) apart.push(...(await store.commitSignals([signal])));
      const resultsOf = (committed: typeof together, tenantId: string) =>
        committed.map(({ status, id }) => [status, id.replace(tenantId, '')]);
      expect(resultsOf(together, 'ten_a')).toEqual(resultsOf(apart, 'ten_b'));
      // Eight letters with three wishes each, and half of them for another profile, too.
      expect(together.filter(({ status }) => status === 'created')).toHaveLength(36);
    });

    test('removes the signals of a platform with all their keys, except signals of leads', async () => {
      const { store } = await openWithTenants(open);
      const sample = { platform: 'sample', personKeys: ['email:a@b.example'] };
      const first = aSignal('ten_a', { id: 'sig_1', externalId: 's1', ...sample });
      await store.commitSignals([
        first,
        aSignal('ten_a', { id: 'sig_2', platform: 'sample', externalId: 's2' }),
        aSignal('ten_a', { id: 'sig_3', externalId: 's1' }),
        aSignal('ten_b', { id: 'sig_4', platform: 'sample', externalId: 's1' }),
      ]);
      const said = { relevant: true, reason: '', actorId: 'usr_1', createdAt: T0 };
      await store.saveFeedback({ tenantId: 'ten_a', signalId: 'sig_1', ...said });
      await store.commitLead(aNewLead('ten_a', aLead('led_1'), { attach: ['sig_2'] }));
      expect(await store.hasSignalsOf('ten_a', 'sample')).toBe(true);
      expect(await store.removeSignalsOf('ten_a', 'sample')).toBe(1);
      const query = { ...ANY, q: 'sig_1' };
      expect((await store.listSignals('ten_a', query)).json).toHaveLength(0);
      expect(await store.getSignal('ten_a', 'sig_1')).toBeNull();
      expect(await store.getSignal('ten_a', 'sig_2')).not.toBeNull();
      expect(await store.getSignal('ten_b', 'sig_4')).not.toBeNull();
      const [again] = await store.commitSignals([{ ...first, id: 'sig_5' }]);
      expect(again).toMatchObject({ status: 'created', id: 'sig_5' });
    });

    test('the same post for another tenant, profile or platform is a separate signal', async () => {
      const { store } = await openWithTenants(open);
      await store.createProfile({ ...defaultProfile('icp_2', 'ten_a', T0), name: 'Second' }, 10);
      const results = await store.commitSignals([
        aSignal('ten_a', { externalId: 'p1' }),
        aSignal('ten_a', { externalId: 'p1', platform: 'x' }),
        aSignal('ten_a', { externalId: 'p1', profileId: 'icp_2' }),
        aSignal('ten_b', { externalId: 'p1' }),
      ]);
      expect(results.map((r) => r.status)).toEqual(['created', 'created', 'created', 'created']);
    });

    test('a call with an invalid signal stores none of its signals', async () => {
      const { store } = await openWithTenants(open);
      const impossible = aSignal('ten_none', { profileId: 'icp_none' });
      await expect(store.commitSignals([aSignal('ten_a', { id: 'sig_1' }), impossible])).rejects.toThrow();
      expect(await store.getSignal('ten_a', 'sig_1')).toBeNull();
    });

    test('concurrent calls fail independently', async () => {
      const { store } = await openWithTenants(open);
      const results = await Promise.allSettled([
        store.commitSignals([aSignal('ten_a', { id: 'sig_1' })]),
        store.commitSignals([aSignal('ten_none', { profileId: 'icp_none' })]),
        store.commitSignals([aSignal('ten_a', { id: 'sig_2' })]),
      ]);
      expect(results.map((r) => r.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(await store.getSignal('ten_a', 'sig_1')).not.toBeNull();
      expect(await store.getSignal('ten_a', 'sig_2')).not.toBeNull();
    });
  });
}
