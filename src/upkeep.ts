import { existsSync, renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Upkeep } from './cli/ports.ts';
import { type Config, loadConfig } from './config.ts';
import { closeDataFolder } from './data-folder.ts';
import { systemClock, toIso } from './lib/clock.ts';
import { systemRandom } from './lib/random.ts';
import { createKeyProof, type KeyProof } from './lib/secret-box.ts';
import {
  addKey,
  formatKeys,
  type KeyRing,
  readSecretsKey,
  secretsKeyFile,
  writeSecretsKey,
} from './secrets-key.ts';
import type { CopyProgress, CopyReport } from './store/copy/copy-store.ts';
import {
  backUp,
  checkEverything,
  inUse,
  isInUse,
  type OnProgress,
  openStore,
  refuseOtherKey,
  restoreBackup,
} from './store/driver.ts';
import { StoreUpkeepError } from './store/errors.ts';

type Restored = Awaited<ReturnType<Upkeep['restore']>>;

/** Maintenance of the data folder and store in the environment. @throws ConfigError */
export function createUpkeep(env: NodeJS.ProcessEnv): Upkeep {
  const config = loadConfig(env);
  const file = join(config.dataDir, 'signalpost.db');
  if (config.databaseUrl !== null) return createPostgresUpkeep(config, file);
  return {
    async backUp(target, withKey, onProgress) {
      requireDatabase(file);
      const keys = findKeys(config);
      refuseOtherKey(file, keys && proofOf(keys, config));
      if (withKey && keys === null) throw new StoreUpkeepError('There is no master key to include.');
      const path = resolve(target);
      const key = withKey && keys !== null ? formatKeys(keys) : null;
      return { target: path, ...(await backUp({ file, target: path, key, onProgress })) };
    },
    restore: (from, onProgress) => restore({ config, file, from: resolve(from), onProgress }),
    check() {
      requireDatabase(file);
      return { file, ...checkEverything(file) };
    },
    async rotateKey() {
      requireDatabase(file);
      const keys = findKeys(config);
      refuseOtherKey(file, keys && proofOf(keys, config));
      if (keys === null) throw noKeyYet();
      if (isInUse(file)) throw inUse(file);
      return rotate(keys, config);
    },
  };
}

/** For PostgreSQL, whose own tools back up and check the database. */
function createPostgresUpkeep(config: Config, file: string): Upkeep {
  const refuse = (command: string, instead: string) => (): never => {
    throw new StoreUpkeepError(
      `The data is in PostgreSQL (DATABASE_URL): instead of "${command}", ${instead}`,
    );
  };
  return {
    backUp: async () =>
      refuse('backup', 'run pg_dump --format=custom, and keep the master key beside the dump.')(),
    restore: async () =>
      refuse('restore', 'run pg_restore into an empty database, with all servers stopped.')(),
    check: refuse('check', "use PostgreSQL's own pg_amcheck."),
    async rotateKey() {
      const keys = findKeys(config);
      if (keys === null) throw noKeyYet();
      const { databaseUrl } = config;
      const store = await openStore({
        file,
        databaseUrl,
        clock: systemClock,
        keyProof: proofOf(keys, config),
      });
      try {
        if ((await store.countOthers()) > 0) {
          throw new StoreUpkeepError(
            'Servers use this database. Stop all of them first: each must have the new key when it starts again.',
          );
        }
        return rotate(keys, config);
      } finally {
        await store.close();
      }
    },
  };
}

interface RestoreDeps {
  config: Config;
  file: string;
  from: string;
  onProgress: OnProgress;
}

async function restore({ config, file, from, onProgress }: RestoreDeps): Promise<Restored> {
  const { dataDir } = config;
  closeDataFolder(dataDir);
  const suffix = `.before-restore-${toIso(systemClock.now()).replace(/[-:]|\.\d+/g, '')}`;
  let key: Restored['key'] = 'missing';
  let packed: string | null = null;

  const putAside = await restoreBackup({
    ...{ from, file, suffix, onProgress },
    admit(draft, text) {
      const there = findKeys(config);
      if (there !== null && (text === null || fits(draft, proofOf(there, config)))) {
        refuseOtherKey(draft, proofOf(there, config));
        key = 'there';
      } else if (text !== null) {
        if (config.secretsKey !== null) refuseOtherKey(draft, proofOf(config.secretsKey, config));
        packed = text;
        key = 'packed';
      }
    },
  });
  if (packed !== null) {
    const keyFile = secretsKeyFile(dataDir);
    if (existsSync(keyFile)) renameSync(keyFile, `${keyFile}${suffix}`);
    writeSecretsKey(dataDir, packed);
  }
  return { file, putAside, key };
}

function noKeyYet(): StoreUpkeepError {
  return new StoreUpkeepError('There is no master key yet. The first start creates one.');
}

/** Copies the store of `DATA_DIR` to PostgreSQL, with its master key. @throws StoreUpkeepError, StoreOpenError */
export async function copyStoreTo(
  to: string,
  env: NodeJS.ProcessEnv,
  onProgress: (progress: CopyProgress) => void,
): Promise<CopyReport> {
  // The command names the target; DATABASE_URL is ignored.
  const { DATABASE_URL: _, ...rest } = env;
  const config = loadConfig(rest);
  const file = join(config.dataDir, 'signalpost.db');
  const keys = findKeys(config);
  refuseOtherKey(file, keys && proofOf(keys, config));
  const { copyStore } = await import('./store/copy/copy-store.ts');
  return copyStore({ file, to, onProgress });
}

function rotate(keys: KeyRing, config: Config): Awaited<ReturnType<Upkeep['rotateKey']>> {
  const next = addKey(keys, systemRandom);
  if (config.secretsKey !== null) return { setting: formatKeys(next).trimEnd().replaceAll('\n', ',') };
  writeSecretsKey(config.dataDir, formatKeys(next));
  return { file: secretsKeyFile(config.dataDir) };
}

function findKeys({ secretsKey, dataDir }: Config): KeyRing | null {
  return secretsKey ?? readSecretsKey(dataDir);
}

function proofOf({ newest, older }: KeyRing, { secretsKey, dataDir }: Config): KeyProof {
  return createKeyProof(newest, secretsKey === null ? secretsKeyFile(dataDir) : 'SECRETS_KEY', older);
}

function fits(file: string, proof: KeyProof): boolean {
  try {
    refuseOtherKey(file, proof);
    return true;
  } catch {
    return false;
  }
}

function requireDatabase(file: string): void {
  if (existsSync(file)) return;
  throw new StoreUpkeepError(
    `There is no database ${file}, or this user cannot see it. Set DATA_DIR to the server's data folder.`,
  );
}
