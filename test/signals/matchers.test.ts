import { beforeEach, expect, test } from 'vitest';
import { onBehalfOf } from '../../src/lib/yielding.ts';
import { defaultProfile, type IcpProfile } from '../../src/model/icp.ts';
import { compileInSteps, createMatchers } from '../../src/signals/matchers.ts';
import { compilePhrases } from '../../src/signals/phrases.ts';
import { compileProfile } from '../../src/signals/score.ts';
import { tokenize } from '../../src/signals/tokens.ts';
import type { Store } from '../../src/store/store.ts';
import { compileLists, compileTenant } from '../support/compile.ts';
import { cpuOf } from '../support/cpu-time.ts';
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

test('the profiles of a tenant are compiled once per version', async () => {
  const matchers = createMatchers(store);
  const first = await matchers.of('ten_a');
  expect(await matchers.of('ten_a')).toBe(first);
});

test('a change takes effect immediately, and unchanged profiles are not compiled again', async () => {
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

test('a deleted profile is not matched any more', async () => {
  await store.createProfile(aProfile('icp_x', { phrases: ['crm'] }), 10);
  const matchers = createMatchers(store);
  await matchers.of('ten_a');
  await store.deleteProfile('ten_a', 'icp_x', 5);
  expect((await matchers.of('ten_a')).match(tokenize('a crm')).size).toBe(0);
});

test('the least recently used tenants are evicted above the limit', async () => {
  const matchers = createMatchers(store, 1);
  const first = await matchers.of('ten_a');
  await matchers.of('ten_b');
  const again = await matchers.of('ten_a');
  expect(again).not.toBe(first);
  expect(again.profiles.map(({ profile }) => profile.id)).toEqual(
    first.profiles.map(({ profile }) => profile.id),
  );
});

test('profiles that need no phrase are open to every post', () => {
  const { open } = compileTenant([
    aProfile('icp_1', { phrases: ['crm'] }),
    aProfile('icp_2'),
    aProfile('icp_3', { competitors: ['Acme'] }),
    aProfile('icp_4', { phrases: ['crm'], thresholds: { hot: 70, warm: 20 } }),
  ]);
  expect(open).toEqual([1, 3]);
});

/** Half as many phrases as the largest plan allows, of almost the maximum length. */
function fullProfiles(): IcpProfile[] {
  const phraseOf = (n: number) =>
    Array.from({ length: 18 }, (_, word) => ((n * 18 + word) * 7_919).toString(36).slice(-4)).join(' ');
  return Array.from({ length: 125 }, (_, place) =>
    aProfile(`icp_${place}`, { phrases: Array.from({ length: 200 }, (_, n) => phraseOf(place * 200 + n)) }),
  );
}

test('large numbers of phrases are compiled in chunks, and after a change only the parts next to it', async () => {
  const profiles = fullProfiles();
  let stamp = 0;
  const matchers = createMatchers({
    ...store,
    profileStamp: async () => String(stamp),
    listProfiles: async () => [...profiles],
  });
  const first = await cpuOf(() => matchers.of('ten_a'));
  // 20 to 40 ms of 400 in total; without chunks, all of it.
  expect(first.longestMs).toBeLessThan(200);
  expect(first.longestMs * 3).toBeLessThan(first.allMs);

  stamp = 1;
  profiles[100] = { ...(profiles[100] ?? aProfile('icp_100')), phrases: ['scaffolding'], version: 2 };
  const second = await cpuOf(() => matchers.of('ten_a'));
  expect(second.allMs * 3).toBeLessThan(first.allMs);
  const { match } = await matchers.of('ten_a');
  const text = `${profiles[0]?.phrases[3]}. We need scaffolding. ${profiles[124]?.phrases[7]}`;
  expect([...match(tokenize(text)).keys()].sort((a, b) => a - b)).toEqual([0, 100, 124]);
});

test('a post is searched by few automata, whatever the number of phrases', () => {
  const profiles = Array.from({ length: 4_000 }, (_, i) => ({
    ...aProfile(`icp_${i}`),
    phrases: Array.from({ length: 20 }, (_, j) => `phrase ${i} ${j}`),
  }));
  expect(compileTenant(profiles).compiled.parts.length).toBeLessThanOrEqual(16);
});

test('several parts find the same as a single automaton, at the same offsets', () => {
  const profiles = fullProfiles().slice(0, 30);
  const phrases = profiles.flatMap((profile) => profile.phrases);
  const text = Array.from({ length: 300 }, (_, n) => phrases[(n * 37) % phrases.length]).join('. ');
  const whole = compileLists(profiles).match(tokenize(text));
  const parts = compileTenant(profiles);
  expect(parts.compiled.parts.length).toBeGreaterThan(2);
  const sorted = (hits: typeof whole) => [...hits].sort(([a], [b]) => a - b);
  expect(sorted(parts.match(tokenize(text)))).toEqual(sorted(whole));
});

test('the criteria of profiles count as memory, too', async () => {
  const titles = Array.from({ length: 100 }, (_, i) => `Head of department ${i}`);
  await store.createProfile(aProfile('icp_x', { titles }), 10);
  const matchers = createMatchers(store, 20_000);
  const [first, other] = [await matchers.of('ten_a'), await matchers.of('ten_b')];
  expect(await matchers.of('ten_b')).toBe(other);
  expect(await matchers.of('ten_a')).not.toBe(first);
});

/** The objects that can be reached from `root`. Lists of numbers count as one each, as for the collector of garbage. */
function objectCount(root: object): number {
  const seen = new Set<object>([root]);
  for (const each of seen) {
    const inside =
      each instanceof Map || each instanceof Set
        ? [...each].flat()
        : ArrayBuffer.isView(each)
          ? []
          : Object.values(each);
    for (const one of inside) if (typeof one === 'object' && one !== null) seen.add(one);
  }
  return seen.size;
}

test('compiled phrases are lists of numbers, not objects', () => {
  const profiles = fullProfiles().slice(0, 30);
  const { compiled } = compileTenant([
    ...profiles,
    aProfile('icp_signs', { phrases: ['C++', 'Yahoo! Mail', 'IT'] }),
  ]);
  expect(compiled.parts.length).toBeGreaterThan(2);
  // Before, there were eight for each of 6,000 phrases.
  expect(objectCount(compiled.parts)).toBeLessThan(2_000);
});

test('three tenants with many new terms are compiled at once, in turns, and those with few beside them', async () => {
  /** The tenants whose profiles are being compiled, in order. */
  const begun: string[] = [];
  const counts: Record<string, number> = { ten_a: 125, ten_b: 125, ten_c: 60, ten_d: 55 };
  const largeOf = (tenantId: string) =>
    fullProfiles()
      .slice(0, counts[tenantId])
      .map((profile) => ({
        ...profile,
        get weights() {
          begun.push(tenantId);
          return profile.weights;
        },
      }));
  const few = [aProfile('icp_few', { phrases: ['crm'] })];
  const matchers = createMatchers({
    ...store,
    profileStamp: async () => '1',
    listProfiles: async (tenantId) => (tenantId === 'ten_few' ? few : largeOf(tenantId)),
  });
  const ended: string[] = [];
  await Promise.all(
    [...Object.keys(counts), 'ten_few'].map((id) =>
      onBehalfOf(id, async () => {
        await matchers.of(id);
        ended.push(id);
      }),
    ),
  );
  expect(ended.slice(0, 2)).toEqual(['ten_few', 'ten_c']);
  expect(begun.indexOf('ten_c')).toBeLessThan(begun.lastIndexOf('ten_a'));
  expect(begun.indexOf('ten_d')).toBeGreaterThan(begun.lastIndexOf('ten_c'));
});

test('concurrent callers share a compilation in progress', async () => {
  const profiles = fullProfiles().slice(0, 30);
  let listed = 0;
  const matchers = createMatchers({
    ...store,
    profileStamp: async () => '1',
    listProfiles: async () => {
      listed++;
      return profiles;
    },
  });
  const [one, other] = await Promise.all([matchers.of('ten_a'), matchers.of('ten_a')]);
  expect([other, listed]).toEqual([one, 1]);
});

test('profiles with many criteria are compiled in chunks, even without phrases', () => {
  const locations = Array.from({ length: 100 }, (_, i) => `Place ${i}`);
  const profiles = Array.from({ length: 100 }, (_, i) => ({
    ...defaultProfile(`icp_${i}`, 'ten_1', 0),
    locations,
  }));
  expect([...compileInSteps(profiles)]).toHaveLength(26);
});

test('a single profile is compiled in chunks: its criteria, its competitors and its phrases', () => {
  const terms = Array.from({ length: 100 }, (_, i) => `${'ﷺ'.repeat(96)}${i}`);
  const piecesOf = (lists: Partial<IcpProfile>) => [...compileProfile(aProfile('icp_1', lists))].length;
  expect(piecesOf({})).toBe(0);
  expect(piecesOf({ titles: terms })).toBe(3);
  expect(piecesOf({ industries: terms, locations: terms })).toBe(6);
  expect(piecesOf({ competitors: terms })).toBe(3);
  expect([...compilePhrases([aProfile('icp_1', { phrases: [...terms, ...terms] })])]).toHaveLength(4);
});

test('the longer terms are, the fewer are compiled in one piece', () => {
  const terms = Array.from({ length: 100 }, (_, i) => `${'ﷺ'.repeat(96)}${i}`);
  const criteria = { titles: terms, industries: terms, locations: terms };
  const profiles = Array.from({ length: 5 }, (_, i) => aProfile(`icp_${i}`, criteria));
  expect([...compileInSteps(profiles)]).toHaveLength(48);
  const phrased = profiles.map(({ id }) => aProfile(id, { phrases: [...terms, ...terms] }));
  expect([...compileInSteps(phrased)].length).toBeGreaterThanOrEqual(4);
});
