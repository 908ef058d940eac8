import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { openDataFolder } from '../../src/data-folder.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createSecretBox } from '../../src/lib/secret-box.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { createUpkeep } from '../../src/upkeep.ts';
import { temporaryFolder } from '../cli/process.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { anEndpoint, aRoutedEvent, aSignal, aTenant } from '../support/store.ts';

export const SECRET = 'whsec_c2VjcmV0';

/** A new, empty data folder and its upkeep. */
export function aFolder(env: Record<string, string> = {}) {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary[Symbol.dispose]());
  const path = env.DATA_DIR ?? join(temporary.path, 'data');
  const all: Record<string, string> = { DATA_DIR: path, ...env };
  return {
    ...{ path, outside: temporary.path, file: join(path, 'signalpost.db'), env: all },
    upkeep: createUpkeep(all),
    /** Opens the store as a server does, with the keys of the folder. */
    async open() {
      const { file, masterKey, olderKeys, keyProof } = openDataFolder(loadConfig(all), systemRandom);
      const store = await openSqliteStore({ file, clock: createManualClock(), keyProof });
      return { store, box: createSecretBox(masterKey, systemRandom, olderKeys) };
    },
    /** Changes the file directly, bypassing the store. */
    spoil(sql: string) {
      const db = new Sqlite(join(path, 'signalpost.db'));
      db.pragma('foreign_keys = OFF');
      db.exec(sql);
      db.close();
    },
  };
}

/** A folder with a tenant, an endpoint with a sealed secret, and waiting deliveries of a signal. */
export async function aFullFolder(env: Record<string, string> = {}) {
  const folder = aFolder(env);
  const { store, box } = await folder.open();
  await store.createTenant(aTenant('ten_a'));
  const secretBox = box.seal(SECRET, 'whk_a');
  await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_a', secretBox }), null);
  const events = ['dlv_1', 'dlv_2'].map((id) => aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: [id] }));
  await store.commitSignals([aSignal('ten_a', { ...WELL_FORMED, events })]);
  await store.close();
  return folder;
}

/** The contents of a signal as this release writes it. */
const WELL_FORMED = {
  id: 'sig_1',
  wire: JSON.stringify({
    signal_id: 'sig_1',
    platform: { name: 'reddit', post_url: 'https://reddit.com/1', posted_at: '2026-01-01T00:00:00.000Z' },
  }),
};

/** The endpoint's secret, opened with the keys of the folder. */
export async function secretIn(folder: Pick<ReturnType<typeof aFolder>, 'open'>): Promise<string> {
  const { store, box } = await folder.open();
  const endpoint = await store.getEndpoint('ten_a', 'whk_a');
  await store.close();
  return box.open(endpoint?.secretBox ?? new Uint8Array(), 'whk_a');
}
