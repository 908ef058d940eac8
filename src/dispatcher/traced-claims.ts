import type { ClaimedDelivery } from '../model/delivery.ts';
import type { Store } from '../store/store.ts';

/** The same store, whose claimed deliveries know the trace that their event came from. Only where something is traced. */
export function withTraces(store: Store): Store {
  async function fill(deliveries: readonly ClaimedDelivery[]): Promise<void> {
    if (deliveries.length === 0) return;
    // A trace is no reason to keep a delivery waiting, let alone to fail.
    const traces = await store.tracesOf(deliveries.map(({ id }) => id)).catch(() => []);
    const byId = new Map(traces);
    for (const delivery of deliveries) delivery.trace = byId.get(delivery.id) ?? null;
  }
  return {
    ...store,
    async claimDeliveries(request) {
      const claims = await store.claimDeliveries(request);
      await fill(claims.flatMap(({ deliveries }) => deliveries));
      return claims;
    },
    async claimProbe(request) {
      const probe = await store.claimProbe(request);
      if (probe !== null) await fill([probe.delivery]);
      return probe;
    },
  };
}
