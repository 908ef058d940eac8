import { expect, test } from 'vitest';
import type { ObservedPost } from '../../src/model/signal.ts';
import { piecesOf } from '../../src/signals/pieces.ts';

const posts = Array.from({ length: 60 }, (_, n) => ({ text: `Post ${n}` }) as ObservedPost);

test.each([
  [0, 25],
  [100, 25],
  [250, 10],
  [990, 2],
  [5_000, 1],
])('with %d profiles, %d posts are planned together', (profiles, most) => {
  const pieces = piecesOf(posts, profiles);
  expect(Math.max(...pieces.map(({ length }) => length))).toBe(most);
  expect(pieces.flat()).toEqual(posts);
});

test('long posts are planned in smaller pieces', () => {
  const long = posts.map((post) => ({ ...post, text: 'a'.repeat(10_000) }));
  expect(new Set(piecesOf(long, 1).map(({ length }) => length))).toEqual(new Set([3]));
});
