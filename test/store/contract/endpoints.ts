import { describe, expect, test } from 'vitest';
import { anEndpoint, aRoutedEvent, aSignal, T0 } from '../../support/store.ts';
import { claim } from './claiming.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

export function describeEndpoints(open: OpenStore): void {
  describe('webhook endpoints', () => {
    test('returns an endpoint as stored, including its encrypted secret', async () => {
      const { store } = await openWithTenants(open);
      const endpoint = anEndpoint('ten_a', {
        secretBox: Uint8Array.of(0, 1, 255),
        status: 'paused',
        pausedReason: 'gone',
      });
      expect(await store.createEndpoint(endpoint, null)).toBe(true);
      expect(await store.getEndpoint('ten_a', endpoint.id)).toEqual(endpoint);
      expect(await store.getEndpoint('ten_b', endpoint.id)).toBeNull();
    });

    test('a tenant cannot exceed its limit of endpoints, even with concurrent requests', async () => {
      const { store } = await openWithTenants(open);
      const asked = Array.from({ length: 5 }, () => store.createEndpoint(anEndpoint('ten_a'), 3));
      expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(2); // one exists from the start
      expect(await store.listEndpoints('ten_a')).toHaveLength(3);
      expect(await store.listEndpoints('ten_b')).toHaveLength(1);
    });

    test('a deleted endpoint is gone, and no longer counts towards the limit', async () => {
      const { store } = await openWithTenants(open);
      expect(await store.deleteEndpoint('ten_b', 'whk_a', T0)).toBe(false);
      const { version = 0 } = (await store.getEndpoint('ten_a', 'whk_a')) ?? {};
      expect(await store.deleteEndpoint('ten_a', 'whk_a', T0, version + 1)).toBe(false);
      expect(await store.deleteEndpoint('ten_a', 'whk_a', T0)).toBe(true);
      expect(await store.deleteEndpoint('ten_a', 'whk_a', T0)).toBe(false);
      expect(await store.getEndpoint('ten_a', 'whk_a')).toBeNull();
      expect(await store.listEndpoints('ten_a')).toEqual([]);
      expect(await store.createEndpoint(anEndpoint('ten_a'), 1)).toBe(true);
    });

    test('deleting an endpoint discards only its waiting deliveries', async () => {
      const { store } = await openWithTenants(open);
      await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_held', status: 'paused' }), null);
      await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_other' }), null);
      const targets = ['whk_a', 'whk_held', 'whk_other'];
      const deliveryIds = ['dlv_due', 'dlv_held', 'dlv_other'];
      await store.commitSignals([
        aSignal('ten_a', { events: [aRoutedEvent('ten_a', targets, { deliveryIds })] }),
      ]);
      await store.deleteEndpoint('ten_a', 'whk_a', T0);
      await store.deleteEndpoint('ten_a', 'whk_held', T0);
      const statusOf = async (id: string) => (await store.getDelivery('ten_a', id))?.status;
      expect(await Promise.all(deliveryIds.map(statusOf))).toEqual(['discarded', 'discarded', 'pending']);
      expect((await store.listDueLanes()).map((lane) => lane.endpointId)).toEqual(['whk_other']);
      expect(await claim(store, 'whk_a')).toMatchObject({
        deliveries: [],
        nextDueAt: null,
        endpoint: 'gone',
      });
    });
  });
}
