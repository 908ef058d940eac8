import { type Command, Option } from 'commander';
import { createTenant } from '../accounts/tenants.ts';
import { PLANS, type Plan } from '../model/tenant.ts';
import { emailAddress, nameText } from './arguments.ts';
import { type Ports, withNewStorage } from './ports.ts';

interface Options {
  name: string;
  email: string;
  plan: Plan;
  json?: true;
}

/** `tenant create`: an account with its owner and a first full-access key, which is shown this once. */
export function addTenantCreate(parent: Command, ports: Ports): void {
  parent
    .command('create')
    .description('make a tenant with its owner and a first full-access API key')
    .requiredOption('--name <name>', 'name of the firm', nameText)
    .requiredOption('--email <address>', "the owner's email address", emailAddress)
    .addOption(new Option('--plan <plan>', 'plan').choices(PLANS).default('trial'))
    .option('--json', 'one JSON object on stdout')
    .action((options: Options) => createOne(ports, options));
}

async function createOne(ports: Ports, { name, email, plan, json }: Options): Promise<void> {
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
  ports.out('Both are shown this once. The link opens the dashboard: choose a password there within 7 days.');
}
