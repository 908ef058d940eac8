import type { Command } from 'commander';
import { renewResetLinks, renewSetupLink } from '../accounts/links.ts';
import { emailAddress } from './arguments.ts';
import { CommandError, type Ports, withStorage } from './ports.ts';

/** `tenant setup-link`: a new one-time link for a tenant's owner to choose a password with. */
export function addTenantSetupLink(parent: Command, ports: Ports): void {
  parent
    .command('setup-link')
    .description("print a new one-time link for a tenant's owner; the one before counts no more")
    .argument('<tenant>', 'id of the tenant')
    .option('--json', 'one JSON object on stdout')
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

/** `owner reset`: a one-time link for a new password, for who forgot theirs and gets no mail. */
export function addOwnerReset(parent: Command, ports: Ports): void {
  parent
    .command('reset')
    .description('print a one-time link for a new password; what is signed in stays so until it is used')
    .requiredOption('--email <address>', 'address of who forgot the password', emailAddress)
    .action(async ({ email }: { email: string }) => {
      const { links, baseUrl } = await withStorage(ports, async (opened) => ({
        links: await renewResetLinks(opened, email),
        baseUrl: opened.baseUrl,
      }));
      if (links.length === 0) throw new CommandError(`Nobody has the address "${email}". See: tenant list`);
      for (const { token } of links) ports.out(`${baseUrl}/dashboard/reset#token=${token}`);
    });
}
