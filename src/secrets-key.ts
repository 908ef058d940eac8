import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from './lib/random.ts';

const KEY_BYTES = 32;

/** The master key is there but no key. */
export class SecretsKeyError extends Error {
  override readonly name = 'SecretsKeyError';
}

/** Where the master key lies in a data folder. */
export function secretsKeyFile(folder: string): string {
  return join(folder, 'secrets.key');
}

/** The master key in `folder/secrets.key` (base64), or null where there is none. @throws SecretsKeyError */
export function readSecretsKey(folder: string): Buffer | null {
  return readKey(secretsKeyFile(folder));
}

/**
 * Makes the master key in `folder/secrets.key` (mode 0600). It is linked into place whole, so that of two processes that
 * start at once both end up with the same key and neither reads half of one.
 */
export function makeSecretsKey(folder: string, random: Random): Buffer {
  const file = secretsKeyFile(folder);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${random.bytes(KEY_BYTES).toString('base64')}\n`, { mode: 0o600 });
  try {
    linkSync(draft, file);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  const key = readKey(file);
  if (key === null) throw new SecretsKeyError(`${file} vanished while it was being made; start again.`);
  return key;
}

function readKey(file: string): Buffer | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
  const key = Buffer.from(text, 'base64');
  if (key.length === KEY_BYTES) return key;
  throw new SecretsKeyError(
    `${file} does not hold 32 bytes in base64. Restore it from a backup: without it stored webhook secrets cannot be read.`,
  );
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : null;
}
