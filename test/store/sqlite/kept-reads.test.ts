import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { createKeptReads } from '../../../src/store/sqlite/reads/kept.ts';
import type { Store } from '../../../src/store/store.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { aKey, anEndpoint, aTenant, openTestStore, T0 } from '../../support/store.ts';

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

/** What a request asks of its tenant. */
const ask = (store: Store) =>
  Promise.all([
    store.findKey(key.hash),
    store.getTenant(TENANT),
    store.profileStamp(TENANT),
    store.listEndpoints(TENANT),
  ]);

it('what a request asks of its tenant is read once, as long as nothing changes', async () => {
  const first = await ask(here);
  const second = await ask(here);
  for (const [n, answer] of first.entries()) expect(second[n]).toBe(answer);
});

it('the change of another tenant makes nobody else read again', async () => {
  const before = await here.listEndpoints(TENANT);
  await there.createTenant(aTenant('ten_b'));
  await there.createEndpoint(anEndpoint('ten_b'), null);
  expect(await here.listEndpoints(TENANT)).toBe(before);
});

it.each<[string, (store: Store) => Promise<unknown>]>([
  ['a key that is revoked', (store) => store.revokeKey(key.id, T0 + 1)],
  ['a key that was used', (store) => store.touchKey(key.id, T0 + 1)],
  ['a key that is made', (store) => store.createKey(aKey(TENANT), 100)],
  [
    'a profile that is made',
    (store) => store.createProfile({ ...profile, id: 'icp_2', name: 'Second' }, 100),
  ],
  ['an endpoint that is made', (store) => store.createEndpoint(anEndpoint(TENANT), null)],
  ['an endpoint that is paused', (store) => store.pauseEndpoint(TENANT, endpoint.id, T0 + 1)],
  [
    'an endpoint that is changed',
    (store) => store.updateEndpoint({ ...endpoint, secretLast4: 'wxyz' }, T0 + 1),
  ],
  ['an endpoint that is deleted', (store) => store.deleteEndpoint(TENANT, endpoint.id, T0 + 1)],
])('%s is seen at once, in this process and in every other on the file', async (_, change) => {
  for (const store of [here, there]) await ask(store);
  await change(there);
  const fresh = (await openTestStore({ file, clock: createManualClock(T0) })).store;
  const expected = await ask(fresh);
  await fresh.close();
  for (const store of [here, there]) expect(await ask(store)).toEqual(expected);
});

it('every column of the four tables counts, so that no change can be missed', () => {
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

it('keeps so much and no more: what was read longest ago is read again', async () => {
  await here.createTenant(aTenant('ten_b'));
  const db = openDatabase(file);
  const kept = createKeptReads(db, 100);
  let reads = 0;
  const ask = (tenantId: string) => kept.of(tenantId, 'text', () => 'x'.repeat(60 + 0 * reads++));
  for (const tenantId of [TENANT, TENANT, 'ten_b', TENANT, TENANT]) ask(tenantId);
  expect(reads).toBe(3);
  kept.of(TENANT, 'large', () => 'x'.repeat(1_000));
  kept.of(TENANT, 'large', () => `${reads++}`);
  expect(reads).toBe(4);
  db.close();
});
