import { beforeEach, expect, test } from 'vitest';
import { defaultProfile, type IcpProfile } from '../../src/model/icp.ts';
import { compileTenant, createMatchers } from '../../src/signals/matchers.ts';
import { tokenize } from '../../src/signals/tokens.ts';
import type { Store } from '../../src/store/store.ts';
import { aTenant, openTestStore } from '../support/store.ts';

let store: Store;

beforeEach(async () => {
  store = (await openTestStore()).store;
  await store.createTenant(aTenant('ten_a'));
  await store.createTenant(aTenant('ten_b'));
});

function aProfile(id: string, overrides: Partial<IcpProfile> = {}): IcpProfile {
  return { ...defaultProfile(id, 'ten_a', 1), name: id, ...overrides };
}

test('a tenant’s profiles are compiled once for each state of them', async () => {
  const matchers = createMatchers(store);
  const first = await matchers.of('ten_a');
  expect(await matchers.of('ten_a')).toBe(first);
});

test('a change counts at once, and what did not change is not compiled again', async () => {
  await store.createProfile(aProfile('icp_x', { phrases: ['crm'] }), 10);
  const matchers = createMatchers(store);
  const before = await matchers.of('ten_a');
  await store.changeProfile(aProfile('icp_x', { phrases: ['scaffolding'], version: 2 }));
  const after = await matchers.of('ten_a');
  expect(after.match(tokenize('a crm')).size).toBe(0);
  expect(after.match(tokenize('scaffolding')).size).toBe(1);
  const unchanged = (matcher: typeof after) => matcher.profiles.find(({ profile }) => profile.id !== 'icp_x');
  expect(unchanged(after)).toBe(unchanged(before));
});

test('a deleted profile is found no more', async () => {
  await store.createProfile(aProfile('icp_x', { phrases: ['crm'] }), 10);
  const matchers = createMatchers(store);
  await matchers.of('ten_a');
  await store.deleteProfile('ten_a', 'icp_x', 5);
  expect((await matchers.of('ten_a')).match(tokenize('a crm')).size).toBe(0);
});

test('what was asked for longest ago is forgotten where more is kept than the bound', async () => {
  const matchers = createMatchers(store, 1);
  const first = await matchers.of('ten_a');
  await matchers.of('ten_b');
  const again = await matchers.of('ten_a');
  expect(again).not.toBe(first);
  expect(again.profiles.map(({ profile }) => profile.id)).toEqual(
    first.profiles.map(({ profile }) => profile.id),
  );
});

test('profiles that ask for no phrase are open to every post', () => {
  const { open } = compileTenant([
    aProfile('icp_1', { phrases: ['crm'] }),
    aProfile('icp_2'),
    aProfile('icp_3', { competitors: ['Acme'] }),
    aProfile('icp_4', { phrases: ['crm'], thresholds: { hot: 70, warm: 20 } }),
  ]);
  expect(open).toEqual([1, 3]);
});
