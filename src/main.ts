#!/usr/bin/env -S node --max-semi-space-size=16
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import {
  CommandError,
  type Opened,
  type OpenOptions,
  type Ports,
  programName,
  type Release,
} from './cli/ports.ts';
import { runCommand } from './cli/program.ts';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { prepareEngine } from './engine.ts';
import { systemClock } from './lib/clock.ts';
import { ownAddresses } from './lib/network.ts';
import { PACKAGE } from './lib/package.ts';
import { printable } from './lib/text.ts';
import type { SiteContent } from './site/content/site-content.ts';

const EXIT_UNEXPECTED = 70; // sysexits.h EX_SOFTWARE
const EXIT_CONFIG = 78; // EX_CONFIG

/** Draining takes at most 30 s; whatever takes longer hangs, and is aborted. */
const STOP_DEADLINE_MS = 35_000;
/** Under npm, one Ctrl-C arrives twice, from the terminal and from npm: only a later one means "immediately". */
const SAME_KEYSTROKE_MS = 1_000;

/**
 * Errors whose message is for operators and states the solution. Listed by name, so that `health` and `listen` need
 * not load the server to report them.
 */
const OPERATOR_ERRORS = new Set(['DataFolderError', 'StoreOpenError', 'StoreUpkeepError', 'DomainError']);

/** Opens data folder and store according to the environment. The server's modules are imported here, on demand. */
async function open({
  env = process.env,
  log,
  existing = false,
  takesPosts = false,
}: OpenOptions): Promise<Opened> {
  const serving = log === 'requests'; // only the server uses its own log
  isServer = serving;
  const config = loadConfig(env, serving ? ownAddresses() : null);
  if (existing) requireDatabase(config);
  const [content, { openRuntime, startServer }, { pino }] = await Promise.all([
    // Before the data folder is opened: a fault in a page stops the start without side effects.
    serving ? loadContent(config) : null,
    import('./runtime.ts'),
    import('pino'),
  ]);
  const faultsOnly = () => pino({ level: 'warn', base: null }, pino.destination({ fd: 2, sync: true }));
  const runtime = await openRuntime(config, {
    writerThread: serving,
    isServer: serving,
    takesPosts,
    ...(serving ? {} : { logger: faultsOnly() }),
  });
  if (serving) logUnexpected(runtime.logger);
  const start = async () => startServer(runtime, content ?? (await loadContent(config)));
  return { ...runtime, baseUrl: config.baseUrl, start };
}

/** An error that ends the server belongs in its log, with a stack trace; `fail` then prints it and exits. */
function logUnexpected(logger: Logger): void {
  process.on('uncaughtExceptionMonitor', (err) => logger.fatal({ err }, 'unexpected error: the server ends'));
}

/** A mistyped DATA_DIR must not create an empty database, as if all data were lost. */
function requireDatabase({ dataDir, databaseUrl }: Config): void {
  if (databaseUrl !== null || existsSync(join(dataDir, 'signalpost.db'))) return;
  throw new CommandError(
    `There is no database in ${dataDir}. Set DATA_DIR to the server's data folder, or create the first tenant with: tenant create`,
  );
}

async function loadContent({ contentDir, baseUrl, dataDir }: Config): Promise<SiteContent> {
  const { loadSiteContent } = await import('./site/content/site-content.ts');
  return loadSiteContent({ contentDir, baseUrl, cacheFile: join(dataDir, 'cache', 'code.json') });
}

async function release(): Promise<Release> {
  const [{ latestVersion }, { MODEL_VERSION }] = await Promise.all([
    import('./store/driver.ts'),
    import('./signals/score.ts'),
  ]);
  const schema = latestVersion(process.env.DATABASE_URL?.trim() || null);
  return { version: PACKAGE.version, schema, model: MODEL_VERSION };
}

async function migrate(): Promise<{ place: string; from: number; to: number }> {
  const config = loadConfig(process.env);
  const [{ openDataFolder }, { migrateStore }, { systemRandom }] = await Promise.all([
    import('./data-folder.ts'),
    import('./store/driver.ts'),
    import('./lib/random.ts'),
  ]);
  const { file, keyProof, warnings } = openDataFolder(config, systemRandom);
  for (const warning of warnings) ports.err(warning);
  const { databaseUrl } = config;
  const place = databaseUrl === null ? file : 'The database of DATABASE_URL';
  return { place, ...(await migrateStore({ file, databaseUrl }, keyProof)) };
}

/**
 * The process drains once, however many signals it receives: supervisors send SIGTERM to the whole group, and npm
 * forwards its own. Only a second Ctrl-C, pressed by a person, means "immediately".
 */
function onStop(stop: (reason: string) => Promise<void>): void {
  let stoppingSince: number | null = null;
  const drain = (signal: NodeJS.Signals) => {
    if (stoppingSince !== null) return;
    stoppingSince = systemClock.monotonic();
    systemClock.after(STOP_DEADLINE_MS, () => {
      process.stderr.write(`Not stopped after ${STOP_DEADLINE_MS / 1_000} s; aborting.\n`);
      process.exit(1);
    });
    stop(signal).then(() => process.exit(0), fail);
  };
  process.on('SIGTERM', drain);
  process.on('SIGHUP', drain);
  process.on('SIGINT', () => {
    if (stoppingSince !== null && systemClock.monotonic() - stoppingSince > SAME_KEYSTROKE_MS)
      process.exit(1);
    drain('SIGINT');
  });
}

/** The message and exit code for an error that ended the process. */
function explain(error: unknown): { exitCode: number; message: string } {
  if (error instanceof ConfigError) return { exitCode: EXIT_CONFIG, message: error.message };
  if (error instanceof Error && isOfConfiguration(error)) {
    return { exitCode: EXIT_CONFIG, message: error.message };
  }
  if (error instanceof CommandError) return { exitCode: error.exitCode, message: error.message };
  if (error instanceof Error) {
    if (OPERATOR_ERRORS.has(error.name)) return { exitCode: 1, message: error.message };
    const listening = listenFault(error);
    if (listening !== null) return { exitCode: 1, message: listening };
  }
  const text = error instanceof Error ? error.message : String(error);
  const message = `Unexpected error: ${text}\nSet SIGNALPOST_DEBUG=1 to see the stack trace.`;
  return { exitCode: EXIT_UNEXPECTED, message };
}

const FAULTS_OF_SETTINGS = new Set<unknown>(['other_key', 'no_driver', 'unfit_server']);

/** Errors in the environment or in files that it names, which a restart does not fix. */
function isOfConfiguration(error: Error): boolean {
  const isOfStore = 'fault' in error && FAULTS_OF_SETTINGS.has(error.fault);
  return error.name === 'ContentError' || error.name === 'SecretsKeyError' || isOfStore;
}

function listenFault(error: NodeJS.ErrnoException & { address?: string; port?: number }): string | null {
  if (error.syscall !== 'listen' && error.syscall !== 'getaddrinfo') return null;
  const place = error.port === undefined ? (error.address ?? 'the address') : `port ${error.port}`;
  if (error.code === 'EADDRINUSE')
    return `${place} is in use. Stop the process that uses it, or set PORT to a free port (0: any).`;
  if (error.code === 'EACCES')
    return `This user is not allowed to listen on ${place}. Set PORT to 1024 or above.`;
  return `Cannot listen (${error.code}). Set HOST to an address of this machine and PORT to a free port.`;
}

function fail(error: unknown): never {
  const { exitCode, message } = explain(error);
  if (message !== '') process.stderr.write(`${printable(message)}\n`);
  if (process.env.SIGNALPOST_DEBUG && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  process.exit(exitCode);
}

/** A single line that is overwritten, and erased when the work has ended. */
function showProgress(text: string | null): void {
  process.stderr.write(`\r\u001b[K${text ?? ''}`);
}

const ports: Ports = {
  env: process.env,
  program: programName(process.argv[1] ?? '', process.env),
  release,
  clock: systemClock,
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
  ...(process.stderr.isTTY && { progress: showProgress }),
  setExitCode(code) {
    process.exitCode = code;
  },
  open,
  migrate,
  upkeep: async () => (await import('./upkeep.ts')).createUpkeep(process.env),
  copyStore: async (to, onProgress) => (await import('./upkeep.ts')).copyStoreTo(to, process.env, onProgress),
  onStop,
};

let isServer = false;
// A reader such as `head` may close the pipe early, which is not an error. The disk of a server's log may be full, or fail: a
// server does without it, like its log, while the output of a command would be incomplete.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  if (!isServer) throw error;
});
// It may fail in the same way, and there is no other place to report that.
process.stderr.on('error', () => {});
process.on('uncaughtException', fail);
prepareEngine();
await runCommand(process.argv.slice(2), ports).catch(fail);
