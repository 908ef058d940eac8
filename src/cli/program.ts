import { Command, CommanderError } from 'commander';
import { printable } from '../lib/text.ts';
import { addCompletion } from './completion.ts';
import { addDemo } from './demo.ts';
import { addImport } from './import.ts';
import { addKeyCreate, addKeyList, addKeyRevoke } from './keys.ts';
import { addListen } from './listen.ts';
import { addMcp } from './mcp.ts';
import { addMigrateStore } from './migrate-store.ts';
import { CommandError, EXIT, type Ports, releaseLine } from './ports.ts';
import { addOpenApi, addOperations, addPage } from './public-commands.ts';
import { addMigrate, addServe, addUpkeep } from './server.ts';
import {
  addOwnerReset,
  addTenantCreate,
  addTenantList,
  addTenantPlan,
  addTenantSetupLink,
} from './tenants.ts';
import { addTrigger } from './trigger.ts';

/** Stops the parsing of arguments: printing the version needs modules that no other command should load. */
class VersionAsked extends Error {}

/** Runs one command; without arguments, `serve`. @throws CommandError, and all errors of opening and starting */
export async function runCommand(args: readonly string[], ports: Ports): Promise<void> {
  const program = createProgram({
    ...ports,
    // Escaped, because text from a file or server may contain terminal control sequences.
    out: (line) => ports.out(printable(line)),
    err: (line) => ports.err(printable(line)),
  });
  try {
    await program.parseAsync(args.length === 0 ? ['serve'] : args, { from: 'user' });
  } catch (error) {
    if (error instanceof VersionAsked) return ports.out(releaseLine(await ports.release()));
    // Commander has already printed its message; requested help and version output are not errors.
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw new CommandError('', EXIT.usage);
  }
}

function createProgram(ports: Ports): Command {
  const program = new Command('signalpost')
    .description("A trade business's public site and its signal intelligence, in one server process.")
    .option('-V, --version', 'print the version, and those of the schema and the scoring model')
    .on('option:version', () => {
      throw new VersionAsked();
    })
    .exitOverride()
    .showHelpAfterError('Use --help to see the options.')
    .configureOutput({
      writeOut: (text) => ports.out(text.trimEnd()),
      writeErr: (text) => ports.err(text.trimEnd()),
    });
  addServe(program, ports);
  addMigrate(program, ports);
  addMigrateStore(program, ports);
  addOperations(program, ports);
  addOpenApi(program, ports);
  addPage(program, ports);
  const tenant = program.command('tenant').description('tenants');
  addTenantCreate(tenant, ports);
  addTenantList(tenant, ports);
  addTenantPlan(tenant, ports);
  addTenantSetupLink(tenant, ports);
  addOwnerReset(program.command('owner').description('manage owners'), ports);
  const key = program.command('key').description('API keys');
  addKeyCreate(key, ports);
  addKeyList(key, ports);
  addKeyRevoke(key, ports);
  addImport(program, ports);
  addUpkeep(program, key, ports);
  addListen(program, ports);
  addTrigger(program, ports);
  addMcp(program, ports);
  addDemo(program, ports);
  addCompletion(program, ports);
  return program;
}
