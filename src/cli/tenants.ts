import { Argument, type Command, Option } from 'commander';
import { credentialsMail, type PasswordLink, renewResetLinks, renewSetupLink } from '../accounts/links.ts';
import { effectivePlan } from '../accounts/plans.ts';
import { changePlan, createTenant } from '../accounts/tenants.ts';
import { toIso } from '../lib/clock.ts';
import { PLANS, type Plan } from '../model/tenant.ts';
import { emailAddress, nameText } from './arguments.ts';
import {
  byCommand,
  CommandError,
  type Opened,
  type Ports,
  table,
  withNewStorage,
  withStorage,
} from './ports.ts';

interface TenantOptions {
  name: string;
  email: string;
  plan: Plan;
  json?: true;
}

/** `tenant create`: creates an account with its owner and a first full-access key, which is shown only once. */
export function addTenantCreate(parent: Command, ports: Ports): void {
  parent
    .command('create')
    .description('create a tenant with its owner and a first full-access API key')
    .requiredOption('--name <name>', 'name of the company', nameText)
    .requiredOption('--email <address>', "the owner's email address", emailAddress)
    .addOption(new Option('--plan <plan>', 'plan').choices(PLANS).default('trial'))
    .option('--json', 'print one JSON object on stdout')
    .action((options: TenantOptions) => createOne(ports, options));
}

async function createOne(ports: Ports, { name, email, plan, json }: TenantOptions): Promise<void> {
  const { created, baseUrl } = await withNewStorage(ports, async (opened) => ({
    created: await createTenant(opened, { name, email, plan }),
    baseUrl: opened.baseUrl,
  }));
  const { tenant, apiKey } = created;
  const setupUrl = `${baseUrl}/dashboard/setup#token=${created.setupToken}`;
  if (json) {
    const wire = { tenant_id: tenant.id, name, plan: tenant.plan, api_key: apiKey, setup_url: setupUrl };
    ports.out(JSON.stringify(wire));
    return;
  }
  ports.out(`Tenant       ${tenant.id}  ${name} (${tenant.plan})`);
  ports.out(`API key      ${apiKey}`);
  ports.out(`Set-up link  ${setupUrl}`);
  ports.out('');
  ports.out('Neither is shown again. Open the link within 7 days and choose a password for the dashboard.');
}

/** `tenant list`: lists all accounts with plan and owner. */
export function addTenantList(parent: Command, ports: Ports): void {
  parent
    .command('list')
    .description('list all tenants')
    .option('--json', 'print a JSON array on stdout')
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

/** `tenant plan`: changes the plan of an account; a trial starts again. */
export function addTenantPlan(parent: Command, ports: Ports): void {
  parent
    .command('plan')
    .description('change the plan of a tenant')
    .argument('<tenant>', 'tenant id')
    .addArgument(new Argument('<plan>', 'plan').choices(PLANS))
    .action(async (tenantId: string, plan: Plan) => {
      const fit = await withStorage(ports, (opened) =>
        byCommand(opened, tenantId, () => changePlan(opened, tenantId, plan)),
      );
      if (fit === null)
        throw new CommandError(`There is no tenant "${tenantId}". List them with: tenant list`);
      ports.out(`${tenantId} is on the ${plan} plan.`);
      if (fit.paused.length > 0)
        ports.out(`Paused, as the plan includes fewer webhooks: ${fit.paused.join(', ')}`);
      if (fit.resumed.length > 0) ports.out(`Resumed: ${fit.resumed.join(', ')}`);
    });
}

/** `tenant setup-link`: creates a new one-time link for a tenant's owner to choose a password. */
export function addTenantSetupLink(parent: Command, ports: Ports): void {
  parent
    .command('setup-link')
    .description("print a new one-time link for a tenant's owner; the previous one becomes invalid")
    .argument('<tenant>', 'ID of the tenant')
    .option('--json', 'print one JSON object on stdout')
    .action(async (tenant: string, { json }: { json?: true }) => {
      const { link, baseUrl } = await withStorage(ports, async (opened) => ({
        link: await renewSetupLink(opened, tenant),
        baseUrl: opened.baseUrl,
      }));
      if (link === null) throw new CommandError(`There is no tenant "${tenant}". See: tenant list`);
      const url = `${baseUrl}/dashboard/setup#token=${link.token}`;
      ports.out(json ? JSON.stringify({ tenant_id: tenant, email: link.user.email, setup_url: url }) : url);
    });
}

/** `owner reset`: creates a one-time link for a new password, for owners who forgot theirs and get no mail. */
export function addOwnerReset(parent: Command, ports: Ports): void {
  parent
    .command('reset')
    .description('print a one-time link for a new password; sessions continue until it is used')
    .requiredOption('--email <address>', 'email address of the owner', emailAddress)
    .option(
      '--without-second-factor',
      'also turn two-factor authentication off, if phone and recovery codes are lost',
    )
    .action(
      async ({ email, withoutSecondFactor = false }: { email: string; withoutSecondFactor?: boolean }) => {
        const { links, baseUrl } = await withStorage(ports, async (opened) => {
          const links = await renewResetLinks(opened, email);
          if (withoutSecondFactor) await dropFactors(opened, links);
          return { links, baseUrl: opened.baseUrl };
        });
        if (links.length === 0) throw new CommandError(`There is no user "${email}". See: tenant list`);
        for (const { token } of links) ports.out(`${baseUrl}/dashboard/reset#token=${token}`);
      },
    );
}

async function dropFactors(opened: Opened, links: readonly PasswordLink[]): Promise<void> {
  for (const { user } of links) {
    const from = {
      change: 'second_factor_off',
      client: '',
      browser: 'the command line of the server',
    } as const;
    const mail = credentialsMail(opened, user, from);
    await byCommand(opened, user.tenantId, () => opened.store.dropFactor(user.id, mail));
  }
}
