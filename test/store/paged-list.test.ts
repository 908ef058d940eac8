import { expect, test } from 'vitest';
import { defaultProfile, type IcpProfile } from '../../src/model/icp.ts';
import { createProfileList, pageProfilesInParts } from '../../src/store/paged-list.ts';
import { pageByCreation } from '../../src/store/pages.ts';
import { T0 } from '../support/store.ts';

const PROFILES = Array.from({ length: 25 }, (_, n) => defaultProfile(`icp_${n}`, 'ten_a', T0 + n));

/** Reads of the profiles above, and how many turns of the event loop had passed at each page. */
function reads() {
  const pages: number[] = [];
  let turns = 0;
  let stamp = '1';
  const nextTurn = () => {
    turns++;
    if (pages.length < 6) setImmediate(nextTurn);
  };
  setImmediate(nextTurn);
  return {
    pages,
    change: () => {
      stamp += '1';
    },
    profileStamp: async () => stamp,
    async pageProfiles(
      _tenantId: string,
      page: Parameters<typeof pageByCreation<IcpProfile>>[0] & { after: unknown },
    ) {
      pages.push(turns);
      const [createdAt = -1] = (page.after ?? []) as number[];
      const rest = PROFILES.filter((profile) => profile.createdAt > createdAt);
      return pageByCreation(page, rest.slice(0, page.limit + 1));
    },
  };
}

/** Short tasks share a turn, so one that is still in line would give its turn to the next ones. */
const afterTheOthers = () => new Promise((resolve) => setTimeout(resolve, 5));

test('all profiles are listed, oldest first, and the event loop turns between pages', async () => {
  const store = reads();
  expect(await createProfileList(store)('ten_a')).toEqual(PROFILES);
  expect(store.pages).toHaveLength(3);
  expect(store.pages[2]).toBeGreaterThan(store.pages[0] ?? expect.fail());
});

test('concurrent calls share a list, unless a profile changed in between', async () => {
  const store = reads();
  const list = createProfileList(store);
  const both = [list('ten_a'), list('ten_a')];
  await Promise.resolve();
  store.change();
  const [first, second, third] = await Promise.all([...both, list('ten_a')]);
  expect(second).toBe(first);
  expect(third).toEqual(first);
  expect(store.pages).toHaveLength(6);
});

test('a large page is read in parts, with turns of the event loop between them', async () => {
  await afterTheOthers();
  const store = reads();
  const read = pageProfilesInParts(store.pageProfiles);
  const page = await read('ten_a', { limit: 22, after: null });
  expect(page.rows).toEqual(PROFILES.slice(0, 22));
  expect(store.pages).toHaveLength(3);
  expect(store.pages[2]).toBeGreaterThan(store.pages[0] ?? expect.fail());
  const rest = await read('ten_a', { limit: 22, after: page.last });
  expect(rest).toEqual({ rows: PROFILES.slice(22), last: null });
});
