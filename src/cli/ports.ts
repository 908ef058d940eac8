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

/** What the process hands to its commands: they know neither the runtime nor the HTTP server. */
export interface Ports {
  env: NodeJS.ProcessEnv;
  /** How this program is called from a shell. */
  program: string;
  /** Which release this is; loads what knows it. */
  release(): Promise<Release>;
  clock: Clock;
  /** Results, a line at a time, on stdout. */
  out(line: string): void;
  /** Diagnostics, a line at a time, on stderr. */
  err(line: string): void;
  /** Shows the progress of long work, replacing the last line; null ends it. Omitted when there is no terminal. */
  progress?(text: string | null): void;
  setExitCode(code: number): void;
  /** Opens data folder and storage as `env` (the process's own if left out) says; nothing listens yet. */
  open(options: OpenOptions): Promise<Opened>;
  /** Brings the storage to this program's schema without starting anything. */
  migrate(): Promise<{ place: string; from: number; to: number }>;
  /** Work on the data folder that no server takes part in. */
  upkeep(): Promise<Upkeep>;
  /** Copies the store of the data folder to the database at `to`, and compares both. */
  copyStore(to: string, onProgress: (progress: StoreCopyProgress) => void): Promise<StoreCopyReport>;
  /** Runs `stop` with the signal's name and ends the process with 0 when SIGTERM, SIGHUP or Ctrl-C comes. */
  onStop(stop: (reason: string) => Promise<void>): void;
}

/** `done` of `total` rows. */
interface StoreCopyProgress {
  step: 'read' | 'copy' | 'compare';
  done: number;
  total: number;
}

/** A store's rows on both sides. */
interface StoreCopyReport {
  tables: { name: string; sqlite: RowsDigest; postgres: RowsDigest; isSame: boolean }[];
  /** False: there was a store already, which was left as it was. */
  isCopied: boolean;
}

interface RowsDigest {
  rows: number;
  hash: string;
}

/** What tells two releases apart. */
export interface Release {
  version: string;
  /** That it brings a database to. */
  schema: number;
  /** That scores come from. */
  model: string;
}

/** For people, beginning with the version alone. */
export function releaseLine({ version, schema, model }: Release): string {
  return `${version} (schema ${schema}, model ${model})`;
}

/** Backups and checks of the data folder; the messages of what it throws are for the operator. */
export interface Upkeep {
  /** `onProgress` receives the share done, in [0, 1]. */
  backUp(
    target: string,
    withKey: boolean,
    onProgress: (part: number) => void,
  ): Promise<{ target: string; bytes: number; version: number }>;
  /** `key` tells whether the master key came along, was there, or must still be put there. */
  restore(
    from: string,
    onProgress: (part: number) => void,
  ): Promise<{ file: string; putAside: string | null; key: 'packed' | 'there' | 'missing' }>;
  /** At most some findings of each part, of `total`. */
  check(): { file: string; findings: { part: string; detail: string }[]; total: number };
  /** `file`: it was written there. `setting`: what SECRETS_KEY is to be set to. */
  rotateKey(): Promise<{ file: string } | { setting: string }>;
}

export interface OpenOptions {
  env?: NodeJS.ProcessEnv;
  /** `requests`: the server's own log, one line a request. `faults`: warnings and errors only, on stderr. */
  log: 'requests' | 'faults';
  /** Refuses a folder without a database, and makes nothing there. */
  existing?: boolean;
  /** Takes posts in: the sentence encoder, half a second of work, is started for them. */
  takesPosts?: boolean;
}

/** An open storage, ready to be served. */
export interface Opened extends AccountDeps {
  /** Absolute address used in links, without a trailing slash. */
  baseUrl: string;
  matchers: Matchers;
  /** Null: words decide alone. */
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
 * Opens the storage that is there for one piece of work and closes it whatever comes. A running server sees the change
 * at once.
 */
export function withStorage<T>(
  ports: Ports,
  work: (opened: Opened) => Promise<T>,
  options: Pick<OpenOptions, 'takesPosts'> = {},
): Promise<T> {
  return withOpened(ports, { ...options, log: 'faults', existing: true }, work);
}

/** What is changed in `work` stands in the tenant's audit list as done by a command. */
export function byCommand<T>({ store }: Opened, tenantId: string, work: () => T): T {
  return store.as({ tenantId, actor: OTHER_ACTORS.command }, work);
}

/** The same for what may be the first to be done, and so makes the storage where there is none. */
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
 * How the program that runs now is called again from a shell. Only by its whole path where npx keeps it: the shell does not
 * know that folder, and npx by name alone could bring another package.
 */
export function programName(path: string, env: NodeJS.ProcessEnv): string {
  if (extname(path) === '.ts') return 'npm run --silent signalpost --';
  if (extname(path) === '.js') return `node ${shellWord(path)}`;
  const folders = env.npm_command === 'exec' ? [] : (env.PATH ?? '').split(':');
  return folders.includes(dirname(path)) ? basename(path) : shellWord(path);
}

/** A text as one word of a shell's command. */
export function shellWord(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Rows under headings, columns aligned by spaces; ends no line in blanks. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  // A name from before names were checked must not make two rows of one, nor be obeyed by the terminal.
  const lines = [headings, ...rows.map((row) => row.map(printableLine))];
  const widths = headings.map((_, column) => largestOf(lines.map((line) => line[column]?.length ?? 0)));
  return lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
