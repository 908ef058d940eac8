import { join } from 'node:path';
import { loadConfig } from './config.ts';
import { createKeyProof } from './lib/secret-box.ts';
import { readSecretsKey, secretsKeyFile } from './secrets-key.ts';
import { type CopyProgress, type CopyReport, copyStore } from './store/copy/copy-store.ts';
import { refuseOtherKey } from './store/driver.ts';

/** Copies the store of `DATA_DIR` into PostgreSQL, with the key that it belongs to. @throws StoreUpkeepError, StoreOpenError */
export function copyStoreOf(
  env: NodeJS.ProcessEnv,
  to: string,
  onProgress: (progress: CopyProgress) => void,
): Promise<CopyReport> {
  // Where the store is to be is named by the command.
  const { DATABASE_URL: _, ...rest } = env;
  const { dataDir, secretsKey } = loadConfig(rest);
  const file = join(dataDir, 'signalpost.db');
  const keys = secretsKey ?? readSecretsKey(dataDir);
  const source = secretsKey === null ? secretsKeyFile(dataDir) : 'SECRETS_KEY';
  refuseOtherKey(file, keys && createKeyProof(keys.newest, source, keys.older));
  return copyStore({ file, to, onProgress });
}
