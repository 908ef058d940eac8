import type { Command } from 'commander';
import { foundingToken } from '../accounts/founding.ts';
import { type Opened, type Ports, releaseLine } from './ports.ts';
import { shellWord } from './program-name.ts';

/** `serve`: runs the server until SIGTERM or Ctrl-C; also what the process does when it is told nothing. */
export function addServe(parent: Command, ports: Ports): void {
  parent
    .command('serve')
    .description('run the server (also without any command)')
    .action(() => serve(ports));
}

async function serve(ports: Ports): Promise<void> {
  const opened = await ports.open({ log: 'requests', takesPosts: true });
  const first = (await opened.store.listTenants()).length === 0;
  const starting = opened.start();
  // A signal may come while the server starts: then it is let start first, so that there is one way to stop.
  ports.onStop(async (reason) => (await starting).stop(reason));
  const { url } = await starting.catch(async (error: unknown) => {
    await opened.close();
    throw error;
  });
  ports.out(`Signalpost ${releaseLine(await ports.release())} listens at ${url}`);
  if (first) welcome(ports, opened);
}

/** Where everything is, and the link and the command that lead into it. */
function welcome(ports: Ports, { baseUrl, cursors }: Opened): void {
  ports.out(`Site address: ${baseUrl}`);
  ports.out(`Dashboard: ${baseUrl}/dashboard`);
  ports.out('There is no tenant yet. This link makes the first one in a browser, until there is one:');
  ports.out(`  ${baseUrl}/dashboard/setup#token=${foundingToken(cursors)}`);
  ports.out('This command makes one too, and prints its set-up link and a full-access API key:');
  ports.out(`  ${tenantCommand(ports)}`);
}

/** The command must meet the server's own folder and address, so what decides them is repeated. */
function tenantCommand({ env, program }: Ports): string {
  const settings = ['DATA_DIR', 'BASE_URL', 'PORT']
    .filter((name) => env[name]?.trim())
    .map((name) => `${name}=${shellWord(env[name] ?? '')} `);
  const command = 'tenant create --name "Your firm" --email you@example.com';
  return `${settings.join('')}${program} ${command}`;
}
