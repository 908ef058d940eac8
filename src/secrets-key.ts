import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { leaveToOwner } from './lib/folders.ts';
import type { Random } from './lib/random.ts';

const KEY_BYTES = 32;

/** The master key is there but no key. */
class SecretsKeyError extends Error {
  override readonly name = 'SecretsKeyError';
}

/** Where the master key lies in a data folder. */
export function secretsKeyFile(folder: string): string {
  return join(folder, 'secrets.key');
}

/** The master key, and those before it, newest first: they still open what they closed. */
export interface KeyRing {
  newest: Buffer;
  older: Buffer[];
}

/** The keys in `folder/secrets.key` (base64, one a line, newest first), or null where there are none. @throws SecretsKeyError */
export function readSecretsKey(folder: string): KeyRing | null {
  return readKey(secretsKeyFile(folder));
}

/** Keys as `secrets.key` has them: base64, one a line, newest first. Null where one is not 32 bytes. */
export function parseKeys(text: string): KeyRing | null {
  const keys = text
    .split(/[\s,]+/)
    .filter((item) => item !== '')
    .map((item) => Buffer.from(item, 'base64'));
  const [newest, ...older] = keys;
  return newest !== undefined && keys.every((key) => key.length === KEY_BYTES) ? { newest, older } : null;
}

/** The text of {@link parseKeys}. */
export function formatKeys({ newest, older }: KeyRing): string {
  return [newest, ...older].map((key) => `${key.toString('base64')}\n`).join('');
}

/** Puts `text` into the place of `folder/secrets.key` at once and whole (mode 0600), kept through a power cut. */
export function writeSecretsKey(folder: string, text: string): void {
  const file = secretsKeyFile(folder);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600, flush: true });
  leaveToOwner(draft);
  renameSync(draft, file);
}

/** A new key before those that there are. */
export function addKey({ newest, older }: KeyRing, random: Random): KeyRing {
  return { newest: random.bytes(KEY_BYTES), older: [newest, ...older] };
}

/**
 * Makes the master key in `folder/secrets.key` (mode 0600). It is linked into place whole, so that of two processes that
 * start at once both end up with the same key and neither reads half of one.
 */
export function makeSecretsKey(folder: string, random: Random): KeyRing {
  const file = secretsKeyFile(folder);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${random.bytes(KEY_BYTES).toString('base64')}\n`, { mode: 0o600 });
  leaveToOwner(draft);
  try {
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
    throw error;
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
