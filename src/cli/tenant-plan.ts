import { Argument, type Command } from 'commander';
import { trialEnd } from '../accounts/tenants.ts';
import { PLANS, type Plan } from '../model/tenant.ts';
import { CommandError, type Ports, withStorage } from './ports.ts';

/** `tenant plan`: puts an account on another plan; a trial begins anew. */
export function addTenantPlan(parent: Command, ports: Ports): void {
  parent
    .command('plan')
    .description('put a tenant on another plan')
    .argument('<tenant>', 'tenant id')
    .addArgument(new Argument('<plan>', 'plan').choices(PLANS))
    .action(async (tenantId: string, plan: Plan) => {
      const found = await withStorage(ports, ({ store, clock }) =>
        store.setPlan(tenantId, plan, trialEnd(plan, clock.now())),
      );
      if (!found) throw new CommandError(`There is no tenant "${tenantId}". List them with: tenant list`);
      ports.out(`${tenantId} is on the plan ${plan}.`);
    });
}
