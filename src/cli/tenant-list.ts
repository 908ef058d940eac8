import type { Command } from 'commander';
import { effectivePlan } from '../accounts/plans.ts';
import { toIso } from '../lib/clock.ts';
import { type Ports, withStorage } from './ports.ts';
import { table } from './table.ts';

/** `tenant list`: every account with its plan and owner. */
export function addTenantList(parent: Command, ports: Ports): void {
  parent
    .command('list')
    .description('list all tenants')
    .option('--json', 'a JSON array on stdout')
    .action(async ({ json }: { json?: true }) => {
      const tenants = await withStorage(ports, ({ store }) => store.listTenants());
      if (json) {
        const wire = tenants.map((tenant) => ({
          tenant_id: tenant.id,
          name: tenant.name,
          plan: tenant.plan,
          trial_ends_at: tenant.trialEndsAt === null ? null : toIso(tenant.trialEndsAt),
          owner_email: tenant.ownerEmail,
          created_at: toIso(tenant.createdAt),
        }));
        ports.out(JSON.stringify(wire));
        return;
      }
      const now = ports.clock.now();
      const rows = tenants.map((tenant) => {
        const inForce = effectivePlan(tenant, now);
        const plan = inForce === tenant.plan ? tenant.plan : `${tenant.plan} (ended: ${inForce})`;
        return [tenant.id, plan, tenant.ownerEmail, tenant.name];
      });
      for (const line of table(['TENANT', 'PLAN', 'OWNER', 'NAME'], rows)) ports.out(line);
    });
}
