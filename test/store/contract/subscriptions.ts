import { describe, expect, test } from 'vitest';
import type { SubscribedEndpoint } from '../../../src/store/endpoint-store.ts';
import { aKey, anEndpoint, aSignal, T0 } from '../../support/store.ts';
import { addDeliveries, anOutcome } from './claiming.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const MOST = { ofKey: 2, ofTenant: 3 };

function aSubscription(id: string, { keyId = 'key_1', expiresAt = T0 + 1_000 } = {}): SubscribedEndpoint {
  const endpoint = anEndpoint('ten_a', { id: `whk_${id}`, mode: 'mcp' });
  const of = { id, tenantId: 'ten_a', keyId, endpointId: endpoint.id, name: 'signal.detected' as const };
  return { subscription: { ...of, expiresAt, createdAt: T0 }, endpoint };
}

export function describeSubscriptions(open: OpenStore): void {
  describe('subscriptions of MCP clients', () => {
    async function openWithKeys() {
      const { store } = await openWithTenants(open);
      for (const id of ['key_1', 'key_2', 'key_3']) await store.createKey(aKey('ten_a', { id }), 100);
      return store;
    }

    test('are returned with their endpoint, which is in no list and counts towards no limit', async () => {
      const store = await openWithKeys();
      const made = aSubscription('sub_1');
      expect(await store.createSubscription(made, MOST)).toBe('created');
      expect(await store.findSubscription('ten_a', 'sub_1')).toEqual(made);
      expect(await store.findSubscription('ten_b', 'sub_1')).toBeNull();
      expect((await store.listEndpoints('ten_a')).map(({ id }) => id)).toEqual(['whk_a']);
      expect(await store.getEndpoint('ten_a', made.endpoint.id)).toBeNull();
      expect((await store.listReceivers('ten_a')).map(({ mode }) => mode)).toContain('mcp');
      expect(await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_c' }), 2)).toBe('created');
    });

    test('are limited per key and tenant, with unique IDs', async () => {
      const store = await openWithKeys();
      const create = (id: string, keyId: string) =>
        store.createSubscription(aSubscription(id, { keyId }), MOST);
      expect(await create('sub_1', 'key_1')).toBe('created');
      expect(await create('sub_1', 'key_1')).toBe('duplicate');
      expect(await create('sub_2', 'key_1')).toBe('created');
      expect(await create('sub_3', 'key_1')).toBe('key_limit');
      expect(await create('sub_3', 'key_2')).toBe('created');
      expect(await create('sub_4', 'key_3')).toBe('tenant_limit');
    });

    test('are renewed at the version that was read, with a new secret and no pause', async () => {
      const store = await openWithKeys();
      const { subscription, endpoint } = aSubscription('sub_1');
      await store.createSubscription(
        { subscription, endpoint: { ...endpoint, status: 'paused', pausedReason: 'failures', pausedAt: T0 } },
        MOST,
      );
      const known = await store.findSubscription('ten_a', 'sub_1');
      if (known === null) throw new Error('it was just stored');
      const secretBox = Uint8Array.of(9);
      const renewed = {
        subscription: { ...known.subscription, expiresAt: T0 + 5_000 },
        endpoint: { ...known.endpoint, secretBox },
      };
      expect(await store.renewSubscription(renewed)).toBe(true);
      expect(await store.renewSubscription(renewed)).toBe(false);
      const found = await store.findSubscription('ten_a', 'sub_1');
      expect(found?.subscription.expiresAt).toBe(T0 + 5_000);
      expect(found?.endpoint).toMatchObject({ secretBox, status: 'active', pausedReason: null });
    });

    test('end with their waiting deliveries, only by their own key, and can be created again', async () => {
      const store = await openWithKeys();
      const made = aSubscription('sub_1');
      await store.createSubscription(made, MOST);
      expect(await store.endSubscription('ten_a', 'key_2', 'sub_1', T0)).toBeNull();
      expect(await store.endSubscription('ten_b', 'key_1', 'sub_1', T0)).toBeNull();
      expect(await store.endSubscription('ten_a', 'key_1', 'sub_1', T0)).toBe(made.endpoint.id);
      expect(await store.findSubscription('ten_a', 'sub_1')).toBeNull();
      const again = { ...made, endpoint: { ...made.endpoint, id: 'whk_again' } };
      again.subscription = { ...made.subscription, endpointId: 'whk_again' };
      expect(await store.createSubscription(again, MOST)).toBe('created');
      expect(await store.commitSignals([aSignal('ten_a')])).toHaveLength(1);
    });

    test('with a failing receiver are paused without a notice to the owner', async () => {
      const store = await openWithKeys();
      const { subscription, endpoint } = aSubscription('sub_1');
      await store.createSubscription({ subscription, endpoint }, MOST);
      const ids = Array.from({ length: 11 }, (_, n) => `dlv_${n}`);
      await addDeliveries(store, endpoint.id, ids, T0, 'ten_a');
      for (const [n, id] of ids.entries()) {
        const gone = n === ids.length - 1;
        const next = { status: 'discarded' as const };
        const of = { deliveryId: id, endpointId: endpoint.id, next, streak: 'add' as const, gone };
        await store.recordOutcome(anOutcome(of, { id: `att_${n}` }));
      }
      const found = await store.findSubscription('ten_a', 'sub_1');
      expect(found?.endpoint).toMatchObject({ status: 'paused', pausedReason: 'gone', alarm: 'none' });
      expect(await store.listMail('ten_a', 10)).toEqual([]);
      expect(await store.listNoticeTenants()).toEqual([]);
    });

    test('end with their expiry, key or receiver, while others stay', async () => {
      const store = await openWithKeys();
      const most = { ofKey: 9, ofTenant: 9 };
      await store.createSubscription(aSubscription('sub_time', { expiresAt: T0 + 10 }), most);
      await store.createSubscription(aSubscription('sub_key', { keyId: 'key_2' }), most);
      const gone = aSubscription('sub_gone');
      gone.endpoint = { ...gone.endpoint, status: 'paused', pausedReason: 'gone', pausedAt: T0 };
      await store.createSubscription(gone, most);
      await store.createSubscription(aSubscription('sub_stays'), most);
      await store.createSubscription(aSubscription('sub_token', { keyId: 'tok_of_no_key' }), most);
      const isEnded = async (now: number, endpointIds: string[]) => {
        expect(await store.listEndedSubscriptions('ten_a', now)).toEqual(endpointIds);
        expect(await store.listEndedSubscriptions('ten_b', now)).toEqual([]);
        expect(await store.endSubscriptions(now, 10)).toEqual(endpointIds);
        expect(await store.listEndedSubscriptions('ten_a', now)).toEqual([]);
      };
      await isEnded(T0, ['whk_sub_gone']);
      await isEnded(T0 + 10, ['whk_sub_time']);
      await store.revokeKey('key_2', T0 + 20);
      await isEnded(T0 + 20, ['whk_sub_key']);
      await store.createSubscription(aSubscription('sub_scope', { keyId: 'key_3' }), most);
      await store.changeKey('ten_a', 'key_3', { scopes: ['signals:write'] });
      await isEnded(T0 + 30, []);
      await store.changeKey('ten_a', 'key_3', { scopes: ['leads:write'] });
      await isEnded(T0 + 30, ['whk_sub_scope']);
      expect(await store.findSubscription('ten_a', 'sub_stays')).not.toBeNull();
      const last = await store.endSubscriptions(T0 + 1_000, 10);
      expect(last.sort()).toEqual(['whk_sub_stays', 'whk_sub_token']);
    });
  });
}
