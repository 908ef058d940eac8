import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import {
  DECISIONS_SQL,
  PROFILE_COUNT_SQL,
  PROFILE_STAMP_SQL,
} from '../../../src/store/sqlite/reads/profiles.ts';
import { OF_LIVE_PROFILE } from '../../../src/store/sqlite/reads/signals.ts';

test('the newest decisions on suggestions are found by an index: all were read to find them', () => {
  const db = openDatabase(':memory:');
  onTestFinished(() => void db.close());
  migrate(db);
  const steps = db
    .prepare<string[], { detail: string }>(`EXPLAIN QUERY PLAN ${DECISIONS_SQL}`)
    .all('ten_a', 'icp_a');
  const plan = steps.map(({ detail }) => detail);
  expect(plan).toContain(
    'SEARCH suggestion_decisions USING INDEX suggestion_decisions_by_time (profile_id=?)',
  );
  // The 2,000 found are put in order.
  expect(plan.filter((step) => step.includes('TEMP B-TREE'))).toHaveLength(1);
});

const OF_LIVE = 'SEARCH icp_profiles USING COVERING INDEX icp_profiles_live_versions (tenant_id=?)';

test('profiles are counted in an index of those not deleted that contains all it takes: the rows of ninety have 22 MB', () => {
  const db = openDatabase(':memory:');
  onTestFinished(() => void db.close());
  migrate(db);
  const steps = db
    .prepare<string[], { detail: string }>(`EXPLAIN QUERY PLAN ${PROFILE_COUNT_SQL}`)
    .all('ten_a');
  expect(steps.map(({ detail }) => detail)).toEqual([OF_LIVE]);
});

test('whether profiles changed is found without those deleted: half a million took 50 ms after each change', () => {
  const db = openDatabase(':memory:');
  onTestFinished(() => void db.close());
  migrate(db);
  const steps = db
    .prepare<[{ tenantId: string }], { detail: string }>(`EXPLAIN QUERY PLAN ${PROFILE_STAMP_SQL}`)
    .all({ tenantId: 'ten_a' });
  expect(steps.map(({ detail }) => detail)[0]).toBe(OF_LIVE);
});

test('whether the profile of a signal was deleted is found in an index: it stands behind settings of up to 250 KB', () => {
  const db = openDatabase(':memory:');
  onTestFinished(() => void db.close());
  migrate(db);
  const steps = db
    .prepare<[], { detail: string }>(
      `EXPLAIN QUERY PLAN SELECT count(*) FROM signals WHERE ${OF_LIVE_PROFILE}`,
    )
    .all();
  expect(steps.map(({ detail }) => detail).join('; ')).toContain(
    'USING COVERING INDEX icp_profiles_deleted_by_id (id=? AND deleted_at=?)',
  );
});
