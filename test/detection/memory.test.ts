import { expect, onTestFinished, test, vi } from 'vitest';
import { markItems, unseen } from '../../src/detection/memory.ts';
import { itemMark, keyOfMark, type SourceItem, toPosts } from '../../src/detection/source-item.ts';
import { storeEditedPosts } from '../../src/signals/intake.ts';
import type { IntakeDeps } from '../../src/signals/plan-posts.ts';

const itemOf = (n: number): SourceItem => ({
  ...{ id: String(n), platform: 'rss', url: '', postedAt: null },
  ...{ title: `Post ${n}`, body: 'a', author: '' },
});
const ITEMS = Array.from({ length: 50 }, (_, n) => itemOf(n));

/** Counts how often it is called. */
function turnCounter() {
  const counter = { turns: 0, next: async () => void counter.turns++ };
  return counter;
}

test('marking items offers a turn to others after each of them', async () => {
  const counter = turnCounter();
  const marked = await markItems(ITEMS, counter.next);
  expect(counter.turns).toBe(ITEMS.length);
  expect(marked).toEqual(ITEMS.map((item) => ({ item, mark: itemMark(item) })));
});

test('converting items offers a turn to others after each of them', async () => {
  const counter = turnCounter();
  const posts = await toPosts([...ITEMS, { ...itemOf(51), title: '', body: '' }], counter.next);
  expect(counter.turns).toBe(ITEMS.length + 1);
  expect(posts.map(({ external_id: id }) => id)).toEqual(ITEMS.map(({ id }) => id));
});

test('others take turns while the signals of edited posts are looked up without waiting', async () => {
  let now = 0;
  let others = 0;
  const seen: number[] = [];
  let elapsed = 0;
  const measured = vi.spyOn(performance, 'now').mockImplementation(() => elapsed);
  onTestFinished(() => measured.mockRestore());
  const deps = {
    clock: { monotonic: () => (now += 10) },
    store: {
      findOutdatedSignals: async () => {
        seen.push(others);
        elapsed += 10; // like a lookup that does not wait for anything
        return [];
      },
    },
  } as unknown as IntakeDeps;
  const beat = () => {
    others++;
    if (seen.length < ITEMS.length) setImmediate(beat);
  };
  setImmediate(beat);
  await storeEditedPosts(deps, 'ten_a', await toPosts(ITEMS, async () => {}));
  expect(seen).toHaveLength(ITEMS.length);
  expect(new Set(seen).size).toBe(ITEMS.length);
});

test('an item is unseen if it is new or edited, and only once', async () => {
  const marked = await markItems(
    [itemOf(1), itemOf(2), { ...itemOf(2), body: 'b' }, itemOf(3)],
    async () => {},
  );
  const [one = '', two = ''] = marked.map(({ mark }) => mark);
  const marks = new Map([
    [keyOfMark(one), one],
    [keyOfMark(two), `${keyOfMark(two)}another.`],
  ]);
  expect(
    unseen(marked, marks, { kind: 'rss', lastSuccessAt: null }).map(({ item: { id, body } }) => [id, body]),
  ).toEqual([
    ['2', 'a'],
    ['3', 'a'],
  ]);
});
