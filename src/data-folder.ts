import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { makeFolder } from './lib/folders.ts';
import type { Random } from './lib/random.ts';
import { createKeyProof, type KeyProof } from './lib/secret-box.ts';
import { makeSecretsKey, readSecretsKey, secretsKeyFile } from './secrets-key.ts';
import { refuseOtherKey } from './store/driver.ts';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** The database with SQLite's companion files, and the key. Other files in the folder are not touched. */
const OURS = /^(signalpost\.db|secrets\.key)/;
/** A folder of this program, with all its contents. */
const CACHE = 'cache';

/** The data folder cannot be used. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError';
}

/** A usable data folder. */
export interface DataFolder {
  /** The path of the database, which may not exist yet. */
  file: string;
  masterKey: Buffer;
  /** Previous keys, newest first. */
  olderKeys: readonly Buffer[];
  keyProof: KeyProof;
  /** Warnings for the operator. */
  warnings: string[];
}

/**
 * Creates the folder and its key if they are missing, and restricts access to them. A database that belongs to
 * another key is refused before anything is changed, and a database with secrets never gets a new key.
 * @throws DataFolderError, SecretsKeyError, StoreOpenError
 */
export function openDataFolder(
  { dataDir, databaseUrl, secretsKey }: Pick<Config, 'dataDir' | 'databaseUrl' | 'secretsKey'>,
  random: Random,
): DataFolder {
  const file = join(dataDir, 'signalpost.db');
  const source = secretsKey === null ? secretsKeyFile(dataDir) : 'SECRETS_KEY';
  try {
    const found = secretsKey ?? readSecretsKey(dataDir);
    // A PostgreSQL database is checked when it is opened.
    if (databaseUrl === null)
      refuseOtherKey(file, found && createKeyProof(found.newest, source, found.older));
    const warnings = closeDataFolder(dataDir);
    const { newest, older } = found ?? makeSecretsKey(dataDir, random);
    const keyProof = createKeyProof(newest, source, older);
    return { file, masterKey: newest, olderKeys: older, keyProof, warnings };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    if (error.code === 'ENOSPC' || error.code === 'EDQUOT') {
      throw new DataFolderError(
        `The disk of the data folder ${dataDir} is full. Make room, and start again.`,
      );
    }
    const detail = `The data folder ${dataDir} cannot be used (${error.code}).`;
    throw new DataFolderError(
      `${detail} Make it writable for this user, or set DATA_DIR to a folder that is.`,
    );
  }
}

/**
 * Creates the data folder, and restricts it and our files in it to this user, however they were created (0700 and
 * 0600). Returns warnings for the operator about paths that stay accessible because another user owns them: if the
 * system that mounts the folder owns it, the files can still be restricted.
 * @throws the system's error if the folder cannot be created or read
 */
export function closeDataFolder(folder: string, chmod = chmodSync): string[] {
  makeFolder(folder, FOLDER_MODE);
  return [folder, ...filesOfOurs(folder)].flatMap((path) => closeToOthers(path, chmod) ?? []);
}

function filesOfOurs(folder: string): string[] {
  const names = readdirSync(folder);
  const cache = join(folder, CACHE);
  return [
    ...names.filter((name) => OURS.test(name)).map((name) => join(folder, name)),
    ...(names.includes(CACHE) ? [cache, ...readdirSync(cache).map((name) => join(cache, name))] : []),
  ];
}

/** What is wrong with the path's mode and could not be fixed; otherwise null. */
function closeToOthers(path: string, chmod: typeof chmodSync): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  // SQLite's companion files appear and disappear with the processes that use the database.
  if (found === undefined) return null;
  const wanted = found.isDirectory() ? FOLDER_MODE : FILE_MODE;
  const mode = found.mode & 0o777;
  if (mode === wanted) return null;
  try {
    chmod(path, wanted);
    return null;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error;
    if (code === 'ENOENT') return null;
    const [is, should] = [mode, wanted].map((bits) => `0${bits.toString(8)}`);
    return (
      `${path} has mode ${is} instead of ${should}, and this user is not allowed to change it (${code}). ` +
      `Run "chmod ${should} ${path}" as its owner, or give it to this user with chown.`
    );
  }
}
