import { describe, expect, test } from 'vitest';
import type { PlanTerms } from '../../../src/store/account-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { anEndpoint, aTenant, T0 } from '../../support/store.ts';
import { addDeliveries, anOutcome } from './claiming.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const terms = (endpoints: number | null, maxRatePerMinute = 60): PlanTerms => ({
  endpoints,
  maxRatePerMinute,
  now: T0 + 100,
});

/** `ten_a` with its `whk_a` and two more endpoints, created one after another. */
async function openWithThree(open: OpenStore) {
  const opened = await openWithTenants(open);
  for (const [index, id] of ['whk_a2', 'whk_a3'].entries()) {
    await opened.store.createEndpoint(anEndpoint('ten_a', { id, createdAt: T0 + 1 + index }), null);
  }
  return opened;
}

async function statesOf(store: Store): Promise<(string | null)[]> {
  return (await store.listEndpoints('ten_a')).map(({ status, pausedReason }) => pausedReason ?? status);
}

/** Records twenty consecutive failures of `whk_a` at `T0`. */
async function pauseByFailures(store: Store): Promise<void> {
  const ids = Array.from({ length: 20 }, (_, i) => `dlv_${i}`);
  await addDeliveries(store, 'whk_a', ids);
  for (const deliveryId of ids)
    await store.recordOutcome(anOutcome({ deliveryId }, { id: `att_${deliveryId}` }));
}

/** Endpoints with a probe due by `now`. */
async function probed(store: Store, now = T0 + 86_400_000): Promise<string[]> {
  return (await store.listDueProbes(now, 10)).map(({ endpointId }) => endpointId);
}

export function describeEndpointChanges(open: OpenStore): void {
  describe('changing an endpoint', () => {
    test('stores the settings and secret as a new version', async () => {
      const { store } = await openWithTenants(open);
      const endpoint = await store.getEndpoint('ten_a', 'whk_a');
      if (endpoint === null) throw new Error('whk_a is there from the start');
      const changed = {
        ...endpoint,
        settings: { ...endpoint.settings, label: 'CRM', max_retries: 7 },
        secretBox: Uint8Array.of(9, 8, 7),
        secretLast4: 'zzzz',
      };
      expect(await store.updateEndpoint(changed, T0)).toBe('updated');
      expect(await store.getEndpoint('ten_a', 'whk_a')).toEqual({ ...changed, version: 2 });
    });

    test('is rejected after another change, and for unknown endpoints', async () => {
      const { store } = await openWithTenants(open);
      const endpoint = await store.getEndpoint('ten_a', 'whk_a');
      if (endpoint === null) throw new Error('whk_a is there from the start');
      await store.pauseEndpoint('ten_a', 'whk_a', T0);
      expect(await store.updateEndpoint(endpoint, T0)).toBe('stale');
      expect(await store.updateEndpoint({ ...endpoint, id: 'whk_none' }, T0)).toBe('stale');
      expect(await store.updateEndpoint({ ...endpoint, version: 2, tenantId: 'ten_b' }, T0)).toBe('stale');
      await store.deleteEndpoint('ten_a', 'whk_a', T0);
      expect(await store.updateEndpoint({ ...endpoint, version: 3 }, T0)).toBe('stale');
    });
  });

  describe('probes of a pause', () => {
    test('end when auto_resume is turned off, and start when it is turned on', async () => {
      const { store, clock } = await openWithTenants(open);
      await pauseByFailures(store);
      expect(await probed(store)).toEqual(['whk_a']);
      const set = async (autoResume: boolean) => {
        const endpoint = await store.getEndpoint('ten_a', 'whk_a');
        if (endpoint === null) throw new Error('whk_a is there from the start');
        const settings = { ...endpoint.settings, auto_resume: autoResume };
        expect(await store.updateEndpoint({ ...endpoint, settings }, clock.now())).toBe('updated');
      };
      await set(false);
      expect(await probed(store)).toEqual([]);
      await set(true);
      expect(await probed(store, clock.now() + 5 * 60_000 - 1)).toEqual([]);
      expect(await probed(store, clock.now() + 5 * 60_000)).toEqual(['whk_a']);
      expect((await store.getEndpoint('ten_a', 'whk_a'))?.status).toBe('paused');
    });

    test('keep their time if other settings change', async () => {
      const { store, clock } = await openWithTenants(open);
      await pauseByFailures(store);
      clock.advance(60_000);
      const endpoint = await store.getEndpoint('ten_a', 'whk_a');
      if (endpoint === null) throw new Error('whk_a is there from the start');
      await store.updateEndpoint(
        { ...endpoint, settings: { ...endpoint.settings, label: 'x' } },
        clock.now(),
      );
      expect(await probed(store, T0 + 5 * 60_000)).toEqual(['whk_a']);
    });

    test('end if the plan allows no more active endpoints', async () => {
      const { store } = await openWithThree(open);
      await pauseByFailures(store);
      await store.setPlan('ten_a', { plan: 'starter', trialEndsAt: null, terms: terms(1) });
      expect(await probed(store)).toEqual([]);
      expect(await statesOf(store)).toEqual(['failures', 'active', 'plan']);
    });
  });

  test('lists endpoints oldest first, without deleted ones', async () => {
    const { store } = await openWithThree(open);
    await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_a0', createdAt: T0 }), null);
    const page = async (after: (string | number)[] | null) =>
      (await store.pageEndpoints('ten_a', { after, limit: 2 })).rows.map(({ id }) => id);
    expect(await page(null)).toEqual(['whk_a', 'whk_a0']);
    expect(await page([T0, 'whk_a0'])).toEqual(['whk_a2', 'whk_a3']);
    expect(await page([T0 + 2, 'whk_a3'])).toEqual([]);
    await store.deleteEndpoint('ten_a', 'whk_a', T0);
    expect(await page(null)).toEqual(['whk_a0', 'whk_a2']);
  });

  test('a page of large endpoints is read in parts, and is whole', async () => {
    const { store } = await openWithThree(open);
    const endpoint = anEndpoint('ten_a', {});
    for (let n = 1; n <= 4; n++) {
      const settings = { ...endpoint.settings, label: 'x'.repeat(600_000) };
      await store.createEndpoint({ ...endpoint, id: `whk_l${n}`, createdAt: T0 + n * 100, settings }, null);
    }
    const all = (await store.listEndpoints('ten_a')).map(({ id }) => id);
    expect(all.slice(-4)).toEqual(['whk_l1', 'whk_l2', 'whk_l3', 'whk_l4']);
    const page = async (limit: number) => {
      const { rows, last } = await store.pageEndpoints('ten_a', { after: null, limit });
      return [rows.map(({ id }) => id), last?.[1] ?? null];
    };
    expect(await page(all.length)).toEqual([all, null]);
    expect(await page(all.length - 1)).toEqual([all.slice(0, -1), 'whk_l3']);
  });

  describe('a smaller plan', () => {
    test('pauses the newest endpoints over its limit, holds their deliveries, and deletes nothing', async () => {
      const { store } = await openWithThree(open);
      await addDeliveries(store, 'whk_a3', ['dlv_1'], T0, 'ten_a');
      const change = { plan: 'starter', trialEndsAt: null, terms: terms(1) } as const;
      expect(await store.setPlan('ten_a', change)).toEqual({ paused: ['whk_a2', 'whk_a3'], resumed: [] });
      expect(await statesOf(store)).toEqual(['active', 'plan', 'plan']);
      expect((await store.getDelivery('ten_a', 'dlv_1'))?.status).toBe('held');
      expect((await store.getEndpoint('ten_a', 'whk_a3'))?.pausedAt).toBe(T0 + 100);
      expect((await store.getEndpoint('ten_b', 'whk_b'))?.status).toBe('active');
    });

    test('counts only active endpoints', async () => {
      const { store } = await openWithThree(open);
      await store.pauseEndpoint('ten_a', 'whk_a', T0);
      const change = { plan: 'starter', trialEndsAt: null, terms: terms(1) } as const;
      expect(await store.setPlan('ten_a', change)).toEqual({ paused: ['whk_a3'], resumed: [] });
      expect(await statesOf(store)).toEqual(['manual', 'active', 'plan']);
    });

    test('reduces rates above its limit', async () => {
      const { store } = await openWithTenants(open);
      const fast = anEndpoint('ten_a', { id: 'whk_fast' });
      fast.settings.rate_limit_per_minute = 1_000;
      await store.createEndpoint(fast, null);
      await store.setPlan('ten_a', { plan: 'pro', trialEndsAt: null, terms: terms(10) });
      expect(await store.getEndpoint('ten_a', 'whk_fast')).toMatchObject({
        settings: { rate_limit_per_minute: 60 },
        version: 2,
      });
      expect((await store.getEndpoint('ten_a', 'whk_a'))?.version).toBe(1);
    });

    test('notifies the owner in the same commit', async () => {
      const { store } = await openWithThree(open);
      await store.setPlan('ten_a', { plan: 'starter', trialEndsAt: null, terms: terms(1) });
      expect((await store.listMail('ten_a', 10)).map(({ facts }) => facts)).toEqual([
        { kind: 'endpoints_over_plan', plan: 'starter', limit: 1, endpointIds: ['whk_a2', 'whk_a3'] },
      ]);
      expect(await store.listMail('ten_b', 10)).toEqual([]);
    });
  });

  test('a larger plan resumes endpoints paused by a plan, oldest first, and no others', async () => {
    const { store } = await openWithThree(open);
    await store.pauseEndpoint('ten_a', 'whk_a2', T0);
    await store.setPlan('ten_a', { plan: 'starter', trialEndsAt: null, terms: terms(0) });
    expect(await statesOf(store)).toEqual(['plan', 'manual', 'plan']);
    const change = { plan: 'pro', trialEndsAt: null, terms: terms(1) } as const;
    expect(await store.setPlan('ten_a', change)).toEqual({ paused: [], resumed: ['whk_a'] });
    expect(await store.setPlan('ten_a', { ...change, terms: terms(null) })).toEqual({
      paused: [],
      resumed: ['whk_a3'],
    });
    expect(await statesOf(store)).toEqual(['active', 'manual', 'active']);
  });

  describe('a trial', () => {
    test('that has expired switches once to the next plan, whose limits apply to its endpoints', async () => {
      const { store } = await open();
      await store.createTenant(aTenant('ten_a', { plan: 'trial', trialEndsAt: T0 + 100 }));
      await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_a' }), null);
      await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_b', createdAt: T0 + 1 }), null);
      expect(await store.listEndedTrials(T0 + 99, 10)).toEqual([]);
      expect(await store.listEndedTrials(T0 + 100, 10)).toEqual(['ten_a']);
      expect(await store.endTrial('ten_a', 'starter', terms(1))).toEqual({ paused: ['whk_b'], resumed: [] });
      expect(await store.endTrial('ten_a', 'starter', terms(1))).toBeNull();
      expect(await store.listEndedTrials(T0 + 100, 10)).toEqual([]);
      expect(await store.getTenant('ten_a')).toMatchObject({ plan: 'starter', trialEndsAt: T0 + 100 });
    });

    test('that has not expired, or was upgraded, is unchanged', async () => {
      const { store } = await openWithTenants(open);
      await store.createTenant(aTenant('ten_t', { plan: 'trial', trialEndsAt: T0 + 101 }));
      expect(await store.endTrial('ten_t', 'starter', terms(1))).toBeNull();
      expect(await store.endTrial('ten_a', 'starter', terms(1))).toBeNull();
      expect((await store.getTenant('ten_a'))?.plan).toBe('pro');
    });
  });
}
