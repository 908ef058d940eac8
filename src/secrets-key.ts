import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { leaveToOwner } from './lib/folders.ts';
import type { Random } from './lib/random.ts';

const KEY_BYTES = 32;

/** The file of the master key exists but contains no valid key. */
class SecretsKeyError extends Error {
  override readonly name = 'SecretsKeyError';
}

/** The path of the master key in a data folder. */
export function secretsKeyFile(folder: string): string {
  return join(folder, 'secrets.key');
}

/** The master key and its predecessors, newest first, which still decrypt what they encrypted. */
export interface KeyRing {
  newest: Buffer;
  older: Buffer[];
}

/**
 * The keys in `folder/secrets.key` (base64, one per line, newest first); null if there are none. @throws
 * SecretsKeyError
 */
export function readSecretsKey(folder: string): KeyRing | null {
  return readKey(secretsKeyFile(folder));
}

/** Parses the format of `secrets.key`: base64, one key per line, newest first. Null if one is not 32 bytes long. */
export function parseKeys(text: string): KeyRing | null {
  const keys = text
    .split(/[\s,]+/)
    .filter((item) => item !== '')
    .map((item) => Buffer.from(item, 'base64'));
  const [newest, ...older] = keys;
  return newest !== undefined && keys.every((key) => key.length === KEY_BYTES) ? { newest, older } : null;
}

/** The inverse of {@link parseKeys}. */
export function formatKeys({ newest, older }: KeyRing): string {
  return [newest, ...older].map((key) => `${key.toString('base64')}\n`).join('');
}

/** Replaces `folder/secrets.key` (mode 0600) by `text`, atomically and durably. */
export function writeSecretsKey(folder: string, text: string): void {
  const file = secretsKeyFile(folder);
  const draft = `${file}.${process.pid}`;
  try {
    writeFileSync(draft, text, { mode: 0o600, flush: true });
    leaveToOwner(draft);
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** Adds a new key before the existing ones. */
export function addKey({ newest, older }: KeyRing, random: Random): KeyRing {
  return { newest: random.bytes(KEY_BYTES), older: [newest, ...older] };
}

/**
 * Creates the master key in `folder/secrets.key` (mode 0600). The file is linked into place when complete, so that
 * two processes that start at the same time end up with the same key, and neither reads half of one.
 */
export function makeSecretsKey(folder: string, random: Random): KeyRing {
  const file = secretsKeyFile(folder);
  const draft = `${file}.${process.pid}`;
  const text = `${random.bytes(KEY_BYTES).toString('base64')}\n`;
  try {
    // Flushed like the database, whose secrets are lost without it.
    writeFileSync(draft, text, { mode: 0o600, flush: true });
    leaveToOwner(draft);
    linkSync(draft, file);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  const key = readKey(file);
  if (key === null) throw new SecretsKeyError(`${file} disappeared while it was being created. Start again.`);
  return key;
}

function readKey(file: string): KeyRing | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    if (codeOf(error) === 'ENOTDIR') throw error; // the data folder is at fault
    throw new SecretsKeyError(
      `${file} cannot be read (${codeOf(error)}). Make it readable for this user, with chown or chmod.`,
    );
  }
  const keys = parseKeys(text);
  if (keys !== null) return keys;
  throw new SecretsKeyError(
    `${file} does not hold 32 bytes in base64 (one line per key, newest first). Restore it from a backup: without it, stored webhook secrets cannot be read.`,
  );
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : null;
}
