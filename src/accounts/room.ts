import type { Clock } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { AccountStore, StoredRows } from '../store/account-store.ts';
import { beyondPlan, effectivePlan, planLimits } from './plans.ts';

const NAMES: Record<keyof StoredRows, string> = {
  signals: 'signals',
  leads: 'leads',
  campaignEvents: 'campaign events',
};

/**
 * Refuses what would be stored where the plan's ceiling on its rows is reached. Asked once a request or run, before its
 * first commit, so that none is stored in part: the last request before the ceiling may go over it by its own items.
 * @throws DomainError `PLAN_REQUIRED` with the number
 */
export async function requireRoom(
  { store, clock }: { store: Pick<AccountStore, 'getTenant' | 'countStored'>; clock: Pick<Clock, 'now'> },
  tenantId: string,
  counted: keyof StoredRows,
): Promise<void> {
  const [tenant, stored] = await Promise.all([store.getTenant(tenantId), store.countStored(tenantId)]);
  if (tenant === null) throw new DomainError('NOT_FOUND', 'There is no such tenant.');
  const plan = effectivePlan(tenant, clock.now());
  const limit = planLimits(plan)[counted];
  if (stored[counted] < limit) return;
  const fact = `The ${plan} plan keeps at most ${limit.toLocaleString('en')} ${NAMES[counted]}, and there are as many.`;
  throw beyondPlan(plan, { counted, fact });
}
