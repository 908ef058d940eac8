import { basename, dirname, extname } from 'node:path';
import type { AccountDeps } from '../accounts/keys.ts';
import type { Clock } from '../lib/clock.ts';
import type { Cursors } from '../lib/cursor.ts';
import { largestOf } from '../lib/lists.ts';
import type { SeededRandom } from '../lib/secret-box.ts';
import { printableLine } from '../lib/text.ts';
import { OTHER_ACTORS } from '../model/audit.ts';
import type { Encoder } from '../signals/encoder/encoder.ts';
import type { Matchers } from '../signals/matchers.ts';

/** The dependencies of commands, which know neither the runtime nor the HTTP server. */
export interface Ports {
  env: NodeJS.ProcessEnv;
  /** The command with which this program is called from a shell. */
  program: string;
  /** The release of this program; loads the modules that know it. */
  release(): Promise<Release>;
  clock: Clock;
  /** Results, a line at a time, on stdout. */
  out(line: string): void;
  /** Diagnostics, a line at a time, on stderr. */
  err(line: string): void;
  /** Shows the progress of long work, replacing the last line; null ends it. Omitted when there is no terminal. */
  progress?(text: string | null): void;
  setExitCode(code: number): void;
  /** Opens data folder and storage according to `env` (defaults to the process's); nothing listens yet. */
  open(options: OpenOptions): Promise<Opened>;
  /** Migrates the storage to this program's schema without starting anything. */
  migrate(): Promise<{ place: string; from: number; to: number }>;
  /** Maintenance of the data folder. */
  upkeep(): Promise<Upkeep>;
  /** Copies the store of the data folder to the database at `to`, and compares both. */
  copyStore(to: string, onProgress: (progress: StoreCopyProgress) => void): Promise<StoreCopyReport>;
  /** On SIGTERM, SIGHUP or Ctrl-C, runs `stop` with the signal's name and exits with 0. */
  onStop(stop: (reason: string) => Promise<void>): void;
}

/** `done` of `total` rows. */
interface StoreCopyProgress {
  step: 'read' | 'copy' | 'compare';
  done: number;
  total: number;
}

/** The rows of a store on both sides. */
interface StoreCopyReport {
  tables: { name: string; sqlite: RowsDigest; postgres: RowsDigest; isSame: boolean }[];
  /** False if the target already contained a store, which was left unchanged. */
  isCopied: boolean;
}

interface RowsDigest {
  rows: number;
  hash: string;
}

/** The versions that identify a release. */
export interface Release {
  version: string;
  /** The schema version of its database. */
  schema: number;
  /** The version of its scoring model. */
  model: string;
}

/** In readable form; the first line is the version alone. */
export function releaseLine({ version, schema, model }: Release): string {
  return `${version} (schema ${schema}, model ${model})`;
}

/** Backups and checks of the data folder; error messages are for operators. */
export interface Upkeep {
  /** `onProgress` receives the completed share, in [0, 1]. */
  backUp(
    target: string,
    withKey: boolean,
    onProgress: (part: number) => void,
  ): Promise<{ target: string; bytes: number; version: number }>;
  /** `key`: whether the master key was included, already existed, or still has to be added. */
  restore(
    from: string,
    onProgress: (part: number) => void,
  ): Promise<{ file: string; putAside: string | null; key: 'packed' | 'there' | 'missing' }>;
  /** The first findings of each part, and the `total`. */
  check(): { file: string; findings: { part: string; detail: string }[]; total: number };
  /** `file`: where it was written. `setting`: the new value for SECRETS_KEY. */
  rotateKey(): Promise<{ file: string } | { setting: string }>;
}

export interface OpenOptions {
  env?: NodeJS.ProcessEnv;
  /** `requests`: the server's own log, one line a request. `faults`: warnings and errors only, on stderr. */
  log: 'requests' | 'faults';
  /** Rejects a folder without a database, and creates nothing there. */
  existing?: boolean;
  /** Posts will be scored: starts the sentence encoder, which takes half a second. */
  takesPosts?: boolean;
}

/** An open storage, ready to be served. */
export interface Opened extends AccountDeps {
  /** Absolute URL for links, without a trailing slash. */
  baseUrl: string;
  matchers: Matchers;
  /** Null: scoring uses words alone. */
  encoder: Encoder | null;
  seededRandom: SeededRandom;
  cursors: Cursors;
  start(): Promise<{ url: string; stop(reason?: string): Promise<void> }>;
  close(): Promise<void>;
}

/** Exit codes of the command line. */
export const EXIT = { ok: 0, failed: 1, network: 2, rateLimited: 3, usage: 64, config: 78 } as const;

/** A user-facing error of a command; ends the process with `exitCode`. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;
  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * Opens the existing storage for one piece of work, and closes it in any case. A running server sees changes immediately.
 */
export function withStorage<T>(
  ports: Ports,
  work: (opened: Opened) => Promise<T>,
  options: Pick<OpenOptions, 'takesPosts'> = {},
): Promise<T> {
  return withOpened(ports, { ...options, log: 'faults', existing: true }, work);
}

/** Changes in `work` are recorded in the tenant's audit log as made by a command. */
export function byCommand<T>({ store }: Opened, tenantId: string, work: () => T): T {
  return store.as({ tenantId, actor: OTHER_ACTORS.command }, work);
}

/** Like `withStorage`, but creates the storage if there is none. */
export function withNewStorage<T>(ports: Ports, work: (opened: Opened) => Promise<T>): Promise<T> {
  return withOpened(ports, { log: 'faults' }, work);
}

async function withOpened<T>(
  ports: Ports,
  options: OpenOptions,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  const opened = await ports.open(options);
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/**
 * The command with which this program is called from a shell: its full path if npx installed it, because the shell
 * does not know that folder and npx with the bare name could fetch another package.
 */
export function programName(path: string, env: NodeJS.ProcessEnv): string {
  if (extname(path) === '.ts') return 'npm run --silent signalpost --';
  if (extname(path) === '.js') return `node ${shellWord(path)}`;
  const folders = env.npm_command === 'exec' ? [] : (env.PATH ?? '').split(':');
  return folders.includes(dirname(path)) ? basename(path) : shellWord(path);
}

/** Quotes a text as one shell word. */
export function shellWord(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A table with headings and aligned columns, without trailing spaces. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  // A name stored before names were validated must neither break a row nor control the terminal.
  const lines = [headings, ...rows.map((row) => row.map(printableLine))];
  const widths = headings.map((_, column) => largestOf(lines.map((line) => line[column]?.length ?? 0)));
  return lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
