import { expect, test } from 'vitest';
import { locksOf } from '../../../src/store/postgres/commit.ts';

const lanes = [{ endpointId: 'whk_1' }, { endpointId: 'whk_2' }];
const request = { tenantId: 'ten_a', route: 'POST /v1/signals', key: 'k', fingerprint: 'f' };

test.each([
  ['the change of a tenant', ['createKey', [{ tenantId: 'ten_a' }, 5]], ['ten_a']],
  ['what concerns no tenant', ['countMail', [[], 0]], ['house']],
  ['a claim, which skips the leases that others are taking,', ['claimLanes', [{ lanes }]], []],
  ['an outcome', ['recordDelivered', ['dlv_1', 'att_1', 1, 0, 0, '{}', 'whk_1']], []],
  ['a heartbeat, which must not wait for housekeeping', ['beat', ['process', 0]], []],
  [
    'what a keyed request does, with what is written beside it',
    ['makeKept', [{ request, name: 'countMail', args: [[], 0] }]],
    ['house', 'ten_a'],
  ],
] as const)('%s locks what it depends on', (_what, call, locks) => {
  expect(locksOf(call)).toEqual(locks);
});
