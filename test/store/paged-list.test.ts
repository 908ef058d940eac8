import { expect, test } from 'vitest';
import { defaultProfile, type IcpProfile } from '../../src/model/icp.ts';
import type { Receiver } from '../../src/store/endpoint-store.ts';
import { createProfileList, createReceiverList, pageProfilesInParts } from '../../src/store/paged-list.ts';
import { pageByBytes, pageByCreation, pageOf, pageOfUncached } from '../../src/store/pages.ts';
import { anEndpoint, T0 } from '../support/store.ts';

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

test('calls after several changes share the list that follows the one in progress', async () => {
  const store = reads();
  const list = createProfileList(store);
  const first = list('ten_a');
  await Promise.resolve();
  const others: Promise<IcpProfile[]>[] = [];
  for (let n = 0; n < 5; n++) {
    store.change();
    others.push(list('ten_a'));
    await Promise.resolve();
  }
  const [listed, ...shared] = await Promise.all([first, ...others]);
  expect(listed).toEqual(PROFILES);
  expect(new Set(shared).size).toBe(1);
  expect(shared[0]).toEqual(PROFILES);
  expect(store.pages).toHaveLength(6);
  expect(await list('ten_a')).not.toBe(shared[0]); // nothing is kept
});

test('a list that failed is not shared with later calls', async () => {
  const store = reads();
  let fails = true;
  const list = createProfileList({
    ...store,
    async profileStamp() {
      return fails ? Promise.reject(new Error('The store failed.')) : store.profileStamp();
    },
  });
  fails = false;
  const first = list('ten_a');
  await Promise.resolve();
  store.change();
  const second = list('ten_a');
  await Promise.resolve();
  await Promise.resolve();
  fails = true;
  expect(await first).toEqual(PROFILES);
  await expect(second).rejects.toThrow('The store failed.');
  fails = false;
  expect(await list('ten_a')).toEqual(PROFILES);
});

test('receivers are listed by pages with turns between them, once until their stamp changes', async () => {
  const all = Array.from({ length: 250 }, (_, n) => aReceiver(`whk_${String(n).padStart(3, '0')}`));
  const turns: number[] = [];
  let turn = 0;
  const next = () => {
    if (++turn < 50) setImmediate(next);
  };
  setImmediate(next);
  let stamp = '1';
  const listReceivers = createReceiverList({
    receiverStamp: async () => stamp,
    async pageReceivers(_tenantId, { limit, after }) {
      turns.push(turn);
      const rest = all.filter(({ id }) => id > String(after?.[0] ?? ''));
      return pageOf(rest, limit, { toRow: (row) => row, position: ({ id }) => [id] });
    },
  });
  const first = await listReceivers('ten_a');
  expect(first).toEqual(all);
  expect(turns).toHaveLength(3);
  expect(turns[2]).toBeGreaterThan(turns[0] ?? expect.fail());
  expect(await listReceivers('ten_a')).toBe(first);
  stamp = '2';
  expect(await listReceivers('ten_a')).toEqual(all);
  expect(turns).toHaveLength(6);
});

function aReceiver(id: string): Receiver {
  const { mode, settings } = anEndpoint('ten_a');
  return { id, mode, settings, shape: null };
}

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

test('a page ends with the last row that may be read, after 400 KB of them, or when it has five times as many that are cached', () => {
  const found = Array.from({ length: 31 }, (_, n) => ({ id: `whk_${String(n).padStart(2, '0')}` }));
  const ids = (bytesOf: (row: { id: string }) => number) => {
    const { rows, last } = pageOfUncached(found, 3, bytesOf);
    return [rows.length, last];
  };
  expect(ids(() => 1)).toEqual([3, ['whk_02']]);
  expect(ids(() => 0)).toEqual([15, ['whk_14']]);
  expect(ids(({ id }) => (id < 'whk_10' ? 0 : 1))).toEqual([13, ['whk_12']]);
  expect(ids(({ id }) => (id < 'whk_10' ? 0 : 250_000))).toEqual([12, ['whk_11']]);
  expect(pageOfUncached(found.slice(0, 3), 3, () => 1).last).toBeNull();
});

test('a page of rows to be read ends after 400 KB of them', () => {
  const found = Array.from({ length: 4 }, (_, n) => ({ id: `whk_${n}`, createdAt: T0 + n, bytes: 150_000 }));
  const page = (limit: number, rows = found) => {
    const { rows: read, last } = pageByBytes({ limit, after: null }, rows.slice(0, limit + 1));
    return [read.length, last];
  };
  expect(page(9)).toEqual([3, [T0 + 2, 'whk_2']]);
  expect(page(2)).toEqual([2, [T0 + 1, 'whk_1']]);
  expect(page(9, found.slice(0, 3))).toEqual([3, null]);
  expect(
    page(
      9,
      found.map((row) => ({ ...row, bytes: 2_000_000 })),
    ),
  ).toEqual([1, [T0, 'whk_0']]);
});
