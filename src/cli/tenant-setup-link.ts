import type { Command } from 'commander';
import { credentialsMail } from '../accounts/credentials.ts';
import { type PasswordLink, renewResetLinks, renewSetupLink } from '../accounts/links.ts';
import { emailAddress } from './arguments.ts';
import { byCommand, CommandError, type Opened, type Ports, withStorage } from './ports.ts';

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
    .option(
      '--without-second-factor',
      'switch the second factor off too, for who lost phone and recovery codes',
    )
    .action(
      async ({ email, withoutSecondFactor = false }: { email: string; withoutSecondFactor?: boolean }) => {
        const { links, baseUrl } = await withStorage(ports, async (opened) => {
          const links = await renewResetLinks(opened, email);
          if (withoutSecondFactor) await dropFactors(opened, links);
          return { links, baseUrl: opened.baseUrl };
        });
        if (links.length === 0) throw new CommandError(`Nobody has the address "${email}". See: tenant list`);
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
