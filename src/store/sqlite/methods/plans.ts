import type { PlanStore } from '../../plan-store.ts';
import type { Context } from '../context.ts';
import { createTenantSql } from '../tables/tenants.ts';

export function planMethods({ db, writer, read }: Context) {
  const tenants = createTenantSql(db);

  return {
    setPlan: (tenantId, change) => writer.run('setPlan', tenantId, change),
    endTrial: (tenantId, plan, terms) => writer.run('endTrial', tenantId, plan, terms),
    listEndedTrials: (now, limit) => read(() => tenants.endedTrials(now, limit)),
  } satisfies PlanStore;
}
