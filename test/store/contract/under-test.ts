import type { OpenedStore } from '../../../src/store/store.ts';
import type { ManualClock } from '../../support/manual-clock.ts';
import { anEndpoint, aTenant } from '../../support/store.ts';

/** A new store of the driver under test. */
export interface StoreUnderTest {
  store: OpenedStore;
  clock: ManualClock;
}

/** Opens an empty store for each test, and closes it when the test ends. */
export type OpenStore = () => Promise<StoreUnderTest>;

/** A store with the tenants `ten_a` and `ten_b`, each with one active endpoint: `whk_a`, `whk_b`. */
export async function openWithTenants(open: OpenStore) {
  const opened = await open();
  for (const name of ['a', 'b']) {
    await opened.store.createTenant(aTenant(`ten_${name}`));
    await opened.store.createEndpoint(anEndpoint(`ten_${name}`, { id: `whk_${name}` }), null);
  }
  return opened;
}
