import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { expect, test } from 'vitest';
import { defaultProfile } from '../../../src/model/icp.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { keyReads } from '../../../src/store/sqlite/reads/accounts.ts';
import { profileReads } from '../../../src/store/sqlite/reads/profiles.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { aTenant, openTestStore, T0 } from '../../support/store.ts';
import { tempFolder } from './temp-folder.ts';

/** The statements prepared by `create`. */
function statementsOf(db: Database, create: (db: Database) => unknown): string[] {
  const texts: string[] = [];
  const spy = new Proxy(db, {
    get(target, name) {
      if (name !== 'prepare') return Reflect.get(target, name);
      return (text: string) => {
        texts.push(text);
        return target.prepare(text);
      };
    },
  });
  create(spy);
  return texts;
}

test.each([
  [
    'API keys',
    keyReads,
    'SEARCH api_keys USING INDEX api_keys_by_tenant (tenant_id=? AND (created_at,id)>(?,?))',
  ],
  [
    'profiles',
    profileReads,
    'SEARCH icp_profiles USING INDEX icp_profiles_live (tenant_id=? AND (created_at,id)>(?,?))',
  ],
])('a page of %s is an index scan, never a sort', (_, create, plan) => {
  const db = openDatabase(':memory:');
  migrate(db);
  const pages = statementsOf(db, create).filter((text) => text.includes(':createdAt'));
  const steps = pages.map((page) =>
    db
      .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${page}`)
      .all({ tenantId: 't', createdAt: 0, id: '', limit: 1 })
      .map((step) => step.detail),
  );
  expect(steps.length).toBeGreaterThan(0);
  expect(steps).toEqual(pages.map(() => [plan]));
  db.close();
});

// A list reads the settings of a row to find out whether it was deleted.
test('a deleted profile keeps no settings', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  const { store } = await openTestStore({ clock: createManualClock(T0), file });
  await store.createTenant(aTenant('ten_a'));
  const phrases = ['crm', 'help desk'];
  await store.createProfile({ ...defaultProfile('icp_1', 'ten_a', T0), name: 'Shops', phrases }, 10);
  await store.deleteProfile('ten_a', 'icp_1', T0);
  await store.close();
  const db = openDatabase(file);
  const kept = db.prepare("SELECT name, settings FROM icp_profiles WHERE id = 'icp_1'").get();
  expect(kept).toEqual({ name: 'Shops', settings: '{}' });
  db.close();
});

test('a part of a page of profiles ends after 400 KB of them: ten of 665 KB took 160 ms to parse', () => {
  const db = openDatabase(':memory:');
  migrate(db);
  db.pragma('foreign_keys = OFF');
  const add = db.prepare(
    `INSERT INTO icp_profiles (id, tenant_id, name, name_key, settings, active, created_at)
     VALUES (:id, 'ten_a', :id, :id, :settings, 1, 0)`,
  );
  const settings = JSON.stringify({ description: '\u0001'.repeat(50_000) });
  for (let n = 0; n < 4; n++) add.run({ id: `icp_${n}`, settings });
  const { pageProfiles } = profileReads(db);
  const { rows, last } = pageProfiles('ten_a', { limit: 10, after: null });
  expect(rows.map(({ id }) => id)).toEqual(['icp_0', 'icp_1']);
  expect(pageProfiles('ten_a', { limit: 10, after: last }).last).toBeNull();
  db.close();
});
