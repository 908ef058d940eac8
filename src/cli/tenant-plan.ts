import { Argument, type Command } from 'commander';
import { changePlan } from '../accounts/plan-changes.ts';
import { PLANS, type Plan } from '../model/tenant.ts';
import { byCommand, CommandError, type Ports, withStorage } from './ports.ts';

/** `tenant plan`: puts an account on another plan; a trial begins anew. */
export function addTenantPlan(parent: Command, ports: Ports): void {
  parent
    .command('plan')
    .description('put a tenant on another plan')
    .argument('<tenant>', 'tenant id')
    .addArgument(new Argument('<plan>', 'plan').choices(PLANS))
    .action(async (tenantId: string, plan: Plan) => {
      const fit = await withStorage(ports, (opened) =>
        byCommand(opened, tenantId, () => changePlan(opened, tenantId, plan)),
      );
      if (fit === null)
        throw new CommandError(`There is no tenant "${tenantId}". List them with: tenant list`);
      ports.out(`${tenantId} is on the plan ${plan}.`);
      if (fit.paused.length > 0)
        ports.out(`Paused, as the plan has no room for them: ${fit.paused.join(', ')}`);
      if (fit.resumed.length > 0) ports.out(`Resumed: ${fit.resumed.join(', ')}`);
    });
}
