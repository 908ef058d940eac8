import { effectivePlan, planLimits } from '../accounts/plans.ts';
import type { Clock } from '../lib/clock.ts';
import type { AccountStore } from '../store/account-store.ts';
import type { EndpointStore, Receiver } from '../store/endpoint-store.ts';

/** The tenant's endpoints as they count now: a format that the plan does not include gives way to the standard payload. */
export async function listReceivers(
  { store, clock }: { store: EndpointStore & Pick<AccountStore, 'getTenant'>; clock: Clock },
  tenantId: string,
): Promise<Receiver[]> {
  const receivers = await store.listReceivers(tenantId);
  if (receivers.every(({ shape }) => shape === null)) return receivers;
  const tenant = await store.getTenant(tenantId);
  const plan = tenant === null ? 'starter' : effectivePlan(tenant, clock.now());
  const limit = planLimits(plan).payloadFormatBytes;
  return receivers.map((receiver) => {
    const isIncluded = receiver.shape === null || receiver.shape.formatBytes <= limit;
    return isIncluded ? receiver : { ...receiver, shape: null };
  });
}
