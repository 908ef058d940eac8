import { expect, test } from 'vitest';
import { createCursors } from '../../src/lib/cursor.ts';

const cursors = createCursors(Buffer.alloc(32, 1));

test('a cursor decodes to its position in its own scope', () => {
  const cursor = cursors.encode('ten_a|-timestamp', [1_700_000_000_000, 'sig_1']);
  expect(cursors.decode('ten_a|-timestamp', cursor)).toEqual([1_700_000_000_000, 'sig_1']);
});

test('a cursor from another scope is rejected', () => {
  expect(cursors.decode('ten_b', cursors.encode('ten_a', [1]))).toBeNull();
});

test('a cursor signed with another key is rejected', () => {
  const other = createCursors(Buffer.alloc(32, 2));
  expect(cursors.decode('ten_a', other.encode('ten_a', [1]))).toBeNull();
});

test('a cursor with any character changed is rejected', () => {
  const cursor = cursors.encode('ten_a', [12345, 'sig_1']);
  for (let i = 0; i < cursor.length; i++) {
    const changed = `${cursor.slice(0, i)}${cursor[i] === 'A' ? 'B' : 'A'}${cursor.slice(i + 1)}`;
    expect(cursors.decode('ten_a', changed)).toBeNull();
  }
});

test('text that is not a cursor is rejected', () => {
  for (const text of ['', 'x', '!!!!', 'a'.repeat(500)]) expect(cursors.decode('ten_a', text)).toBeNull();
});
