import { describe, expect, test } from 'vitest';
import { storedFormatBytes } from '../../../src/model/payload-shape.ts';
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
      expect(await store.createEndpoint(endpoint, null)).toBe('created');
      expect(await store.getEndpoint('ten_a', endpoint.id)).toEqual(endpoint);
      expect(await store.getEndpoint('ten_b', endpoint.id)).toBeNull();
    });

    test('a tenant cannot exceed its limit of endpoints, even with concurrent requests', async () => {
      const { store } = await openWithTenants(open);
      const asked = Array.from({ length: 5 }, () => store.createEndpoint(anEndpoint('ten_a'), 3));
      expect((await Promise.all(asked)).filter((outcome) => outcome === 'created')).toHaveLength(2); // one exists from the start
      expect(await store.listEndpoints('ten_a')).toHaveLength(3);
      expect(await store.listEndpoints('ten_b')).toHaveLength(1);
    });

    test('payload formats of a tenant have a limit in all, which only larger ones can exceed', async () => {
      const { store } = await openWithTenants(open);
      const withFormat = (id: string, text: string) => {
        const endpoint = anEndpoint('ten_a', { id });
        const format = text === '' ? null : { flatten: false, custom: { text } };
        return { ...endpoint, settings: { ...endpoint.settings, payload_format: format } };
      };
      const size = storedFormatBytes(withFormat('', '1234567890').settings.payload_format);
      const limit = 2 * size;
      const add = (id: string, text: string) => store.createEndpoint(withFormat(id, text), null, limit);
      expect(await add('whk_1', '1234567890')).toBe('created');
      expect(await add('whk_2', '12345678é')).toBe('created');
      expect(await add('whk_3', '1')).toBe('formats_full');
      expect(await add('whk_3', '')).toBe('created');
      expect(await store.createEndpoint(anEndpoint('ten_b', { id: 'whk_4' }), null, 0)).toBe('created');

      const set = (id: string, text: string, version: number, most = limit) =>
        store.updateEndpoint({ ...withFormat(id, text), version }, T0, 'settings', most);
      expect(await set('whk_2', '12345678901', 1)).toBe('formats_full');
      expect(await set('whk_3', 'x', 1)).toBe('formats_full');
      expect(await set('whk_2', '123456789', 1, 0)).toBe('updated');
      expect(await set('whk_2', '', 2, 0)).toBe('updated');
      expect(await set('whk_3', '1234567890', 1)).toBe('updated');
      await store.deleteEndpoint('ten_a', 'whk_1', T0);
      expect(await set('whk_2', '1234567890', 3)).toBe('updated');
    });

    test('lists and counts all endpoints, without what is encrypted', async () => {
      const { store } = await openWithTenants(open);
      const boxes = { headers: { 'X-Team': 'orth' }, headersBox: new Uint8Array(41_000) };
      for (let n = 0; n < 60; n++) {
        await store.createEndpoint(
          anEndpoint('ten_a', { id: `whk_n${n}`, createdAt: T0 + n, ...boxes }),
          null,
        );
      }
      const listed = await store.listEndpoints('ten_a');
      expect(listed).toHaveLength(61);
      expect(await store.countEndpoints('ten_a')).toBe(61);
      expect(listed.at(-1)).toMatchObject({ id: 'whk_n59', headers: { 'X-Team': 'orth' } });
      expect(listed.filter((endpoint) => 'secretBox' in endpoint || 'headersBox' in endpoint)).toEqual([]);
    });

    test('their stamp changes with every change of one', async () => {
      const { store } = await openWithTenants(open);
      const stamps = new Set([await store.endpointStamp('ten_a')]);
      const add = () => store.endpointStamp('ten_a').then((stamp) => stamps.add(stamp));
      await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_y' }), null);
      await add();
      await store.pauseEndpoint('ten_a', 'whk_y', T0);
      await add();
      await store.deleteEndpoint('ten_a', 'whk_y', T0);
      await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_z' }), null);
      await store.pauseEndpoint('ten_a', 'whk_z', T0);
      await add();
      expect(stamps.size).toBe(4);
      await store.createEndpoint(anEndpoint('ten_b'), null);
      expect(stamps.size).toBe((await add()).size);
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
      expect(await store.createEndpoint(anEndpoint('ten_a'), 1)).toBe('created');
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
