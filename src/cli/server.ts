import type { Command } from 'commander';
import { foundingToken } from '../accounts/tenants.ts';
import { storageFaultOf } from '../model/errors.ts';
import { EXIT, type Opened, type Ports, releaseLine, shellWord } from './ports.ts';

/** `serve`: runs the server until SIGTERM or Ctrl-C; also the default without a command. */
export function addServe(parent: Command, ports: Ports): void {
  parent
    .command('serve')
    .description('run the server (also without any command)')
    .action(() => serve(ports));
}

async function serve(ports: Ports): Promise<void> {
  const opened = await ports.open({ log: 'requests', takesPosts: true });
  const first = await hasNoTenant(opened);
  const starting = opened.start();
  // A signal during startup waits until the server has started, so that there is only one way to stop.
  ports.onStop(async (reason) => (await starting).stop(reason));
  const { url } = await starting.catch(async (error: unknown) => {
    await opened.close();
    throw error;
  });
  ports.out(`Signalpost ${releaseLine(await ports.release())} listens at ${url}`);
  if (first) welcome(ports, opened);
}

/** False where it cannot be known right now: a server starts all the same. */
async function hasNoTenant({ store }: Opened): Promise<boolean> {
  try {
    return (await store.tenantIdsAfter('', 1)).length === 0;
  } catch (error) {
    if (storageFaultOf(error) === null) throw error;
    return false;
  }
}

/** Where everything is, with the link and command to get started. */
function welcome(ports: Ports, { baseUrl, cursors }: Opened): void {
  ports.out(`Site address: ${baseUrl}`);
  ports.out(`Dashboard: ${baseUrl}/dashboard`);
  ports.out('There is no tenant yet. Create the first one in a browser with this link:');
  ports.out(`  ${baseUrl}/dashboard/setup#token=${foundingToken(cursors)}`);
  ports.out('Or with this command, which prints a set-up link and a full-access API key:');
  ports.out(`  ${tenantCommand(ports)}`);
}

/** The command has to use the server's own folder and URL, so the settings that determine them are repeated. */
function tenantCommand({ env, program }: Ports): string {
  const settings = ['DATA_DIR', 'BASE_URL', 'PORT']
    .filter((name) => env[name]?.trim())
    .map((name) => `${name}=${shellWord(env[name] ?? '')} `);
  const command = 'tenant create --name "Your firm" --email you@example.com';
  return `${settings.join('')}${program} ${command}`;
}

/** `migrate`: migrates the storage to this release's schema, which `serve` also does automatically. */
export function addMigrate(parent: Command, ports: Ports): void {
  parent
    .command('migrate')
    .description('update the database to the schema of this release')
    .action(async () => {
      const { place, from, to } = await ports.migrate();
      const what =
        from === to ? `is at schema version ${to}` : `was updated from schema version ${from} to ${to}`;
      ports.out(`${place} ${what}.`);
    });
}

/** `backup`, `restore`, `check` and `key rotate`: maintenance of a data folder. */
export function addUpkeep(parent: Command, key: Command, ports: Ports): void {
  parent
    .command('backup <file>')
    .description('back up the database to a file, which is then checked; the server may be running')
    .option('--with-key', 'include the master key: protect the file as you would protect the key')
    .action((file: string, { withKey = false }: { withKey?: boolean }) => backUp(ports, file, withKey));
  parent
    .command('restore <file>')
    .description(
      'replace the database with a backup; the old one is set aside. The server must not be running',
    )
    .action((file: string) => restore(ports, file));
  parent
    .command('check')
    .description(
      'check all stored data; the server may be running. Exit code 0: no problems, 1: problems found',
    )
    .action(() => check(ports));
  key
    .command('rotate')
    .description(
      'create a new master key; older ones can still decrypt existing secrets. The server must not be running',
    )
    .action(() => rotate(ports));
}

async function backUp(ports: Ports, file: string, withKey: boolean): Promise<void> {
  const upkeep = await ports.upkeep();
  const { target, bytes, version } = await upkeep.backUp(file, withKey, progress(ports));
  ports.out(`${target}: ${megabytes(bytes)}, schema version ${version}, checked.`);
  if (withKey) ports.err('It includes the master key: anyone with this file can read the secrets in it.');
  else {
    ports.err(
      'It does not include the master key: keep secrets.key (or SECRETS_KEY) in another place, or back up with ' +
        '--with-key. Without the key, webhook secrets cannot be read.',
    );
  }
}

async function restore(ports: Ports, from: string): Promise<void> {
  const upkeep = await ports.upkeep();
  const { file, putAside, key } = await upkeep.restore(from, progress(ports));
  ports.out(`${file} was restored from ${from}.`);
  if (putAside !== null) ports.out(`The previous database is in ${putAside}.`);
  if (key === 'packed') ports.out('The master key was restored from the backup.');
  if (key === 'missing') {
    ports.err(
      'The master key is missing: before you start the server, put the matching secrets.key next to the database or set SECRETS_KEY.',
    );
  }
  ports.err('Deliveries made after this backup will be sent again, with the same webhook-id.');
}

async function check(ports: Ports): Promise<void> {
  const { file, findings, total } = (await ports.upkeep()).check();
  for (const { part, detail } of findings) ports.out(`${part}: ${detail}`);
  if (total > findings.length) ports.out(`… and ${total - findings.length} more`);
  ports.out(
    total === 0 ? `${file} is sound.` : `${file} has ${total === 1 ? 'a problem' : `${total} problems`}.`,
  );
  if (total > 0) ports.setExitCode(EXIT.failed);
}

async function rotate(ports: Ports): Promise<void> {
  const rotated = await (await ports.upkeep()).rotateKey();
  if ('file' in rotated) {
    ports.out(`${rotated.file} has a new master key, with the earlier ones below it. Back it up.`);
  } else {
    ports.err('Set SECRETS_KEY to this from now on: the new key and the earlier ones. Back it up.');
    ports.out(rotated.setting);
  }
}

/** Prints at most one line per tenth to stderr. */
function progress(ports: Ports): (part: number) => void {
  let shown = 0;
  return (part) => {
    const tenths = Math.floor(part * 10);
    if (tenths > shown && tenths < 10) ports.err(`${tenths * 10} %`);
    shown = Math.max(shown, tenths);
  };
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
