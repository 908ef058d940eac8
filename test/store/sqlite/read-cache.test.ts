import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { createReadCache } from '../../../src/store/sqlite/reads/read-cache.ts';
import type { Store } from '../../../src/store/store.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { aKey, anEndpoint, aRoutedEvent, aSignal, aTenant, openTestStore, T0 } from '../../support/store.ts';

const TENANT = 'ten_a';
const { key, profile } = aTenant(TENANT);
const endpoint = anEndpoint(TENANT);
let folder = '';
let file = '';
let here: Store;
let there: Store;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signalpost-kept-'));
  file = join(folder, 'signalpost.db');
  here = (await openTestStore({ file, clock: createManualClock(T0) })).store;
  there = (await openTestStore({ file, clock: createManualClock(T0) })).store;
  await here.createTenant(aTenant(TENANT));
  await here.createEndpoint(endpoint, null);
});
afterEach(async () => {
  await here.close();
  await there.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The look-ups that a request makes for its tenant. */
const ask = (store: Store) =>
  Promise.all([store.findKey(key.hash), store.getTenant(TENANT), store.profileStamp(TENANT)]);

it('the look-ups of a request are read only once while nothing changes', async () => {
  const first = await ask(here);
  const second = await ask(here);
  for (const [n, answer] of first.entries()) expect(second[n]).toBe(answer);
});

it('a change of another tenant invalidates nothing', async () => {
  const before = await here.getTenant(TENANT);
  await there.createTenant(aTenant('ten_b'));
  await there.createEndpoint(anEndpoint('ten_b'), null);
  expect(await here.getTenant(TENANT)).toBe(before);
});

it.each<[string, (store: Store) => Promise<unknown>]>([
  ['a key that is revoked', (store) => store.revokeKey(key.id, T0 + 1)],
  ['a key that was used', (store) => store.touchKey(key.id, T0 + 1)],
  ['a key that is made', (store) => store.createKey(aKey(TENANT), 100)],
  [
    'a profile that is made',
    (store) => store.createProfile({ ...profile, id: 'icp_2', name: 'Second' }, 100),
  ],
])('%s is visible immediately, in this process and in all others on the file', async (_, change) => {
  for (const store of [here, there]) await ask(store);
  await change(there);
  const fresh = (await openTestStore({ file, clock: createManualClock(T0) })).store;
  const expected = await ask(fresh);
  await fresh.close();
  for (const store of [here, there]) expect(await ask(store)).toEqual(expected);
});

it('detects a change of any column of the four tables', () => {
  const db = openDatabase(file);
  const revision = () => db.prepare('SELECT revision FROM tenants WHERE id = ?').pluck().get(TENANT);
  for (const table of ['tenants', 'api_keys', 'icp_profiles', 'webhook_endpoints']) {
    const columns = db.prepare<[], string>(`SELECT name FROM pragma_table_info('${table}')`).pluck().all();
    for (const column of columns.filter((name) => name !== 'revision')) {
      const before = revision();
      db.exec(
        `UPDATE ${table} SET ${column} = ${column} WHERE ${table === 'tenants' ? 'id' : 'tenant_id'} = '${TENANT}'`,
      );
      expect([table, column, revision()]).not.toEqual([table, column, before]);
    }
  }
  db.close();
});

describe('the cache of tenant data', () => {
  const JSON_QUOTES = 2;
  let db: Database;
  let asked: string[];
  let ask: (tenantId: string, name: string, length: number) => void;

  beforeEach(async () => {
    for (const name of ['b', 'c']) await here.createTenant(aTenant(`ten_${name}`));
    db = openDatabase(file);
    const cache = createReadCache(db, 100);
    asked = [];
    ask = (tenantId, name, length) =>
      void cache.of(tenantId, name, () => {
        asked.push(`${tenantId} ${name}`);
        return 'x'.repeat(length - JSON_QUOTES);
      });
  });
  afterEach(() => void db.close());

  it('evicts the least recently used tenant first, not the first one read', () => {
    for (const tenantId of ['ten_a', 'ten_b', 'ten_a', 'ten_c', 'ten_a', 'ten_c']) ask(tenantId, 'text', 40);
    expect(asked).toEqual(['ten_a text', 'ten_b text', 'ten_c text']);
    ask('ten_b', 'text', 40);
    expect(asked.at(-1)).toBe('ten_b text');
  });

  it('stays within its limit if the first tenant reads more', () => {
    ask('ten_a', 'text', 40);
    ask('ten_b', 'text', 40);
    ask('ten_a', 'more', 40);
    asked = [];
    ask('ten_a', 'text', 40);
    ask('ten_a', 'more', 40);
    expect(asked).toEqual([]);
    ask('ten_b', 'text', 40);
    expect(asked).toEqual(['ten_b text']);
  });

  it('neither caches a result larger than its limit nor evicts anything for it', () => {
    ask('ten_a', 'text', 40);
    ask('ten_a', 'large', 1_000);
    ask('ten_a', 'large', 1_000);
    ask('ten_a', 'text', 40);
    expect(asked).toEqual(['ten_a text', 'ten_a large', 'ten_a large']);
  });
});

it('the receivers of events are read again only after an endpoint was added, changed or deleted, by any process', async () => {
  const first = await here.listReceivers(TENANT);
  expect(first.map(({ id }) => id)).toEqual([endpoint.id]);
  await here.commitSignals([aSignal(TENANT, { events: [aRoutedEvent(TENANT, [endpoint.id])] })]);
  expect(await here.listReceivers(TENANT)).toBe(first);
  const settings = { ...endpoint.settings, min_score: 50 };
  await there.updateEndpoint({ ...endpoint, settings }, T0, 'settings');
  expect((await here.listReceivers(TENANT))[0]?.settings.min_score).toBe(50);
  await there.createEndpoint(anEndpoint(TENANT), null);
  expect(await here.listReceivers(TENANT)).toHaveLength(2);
  await there.deleteEndpoint(TENANT, endpoint.id, T0);
  expect(await here.listReceivers(TENANT)).toHaveLength(1);
});
