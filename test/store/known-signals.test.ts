import { expect, test } from 'vitest';
import { createKnownSignalSearch } from '../../src/store/changes/known-signals.ts';
import { answeredAtOnce, runAtOnce } from '../../src/store/sqlite/sql/prepared.ts';
import { aSignal, T0 } from '../support/store.ts';

const wire = JSON.stringify({
  prospect: { name: 'Ann', email: '', linkedin_url: '' },
  platform: { name: 'x', posted_at: '' },
});

/** Counts the stored texts with which a text is compared, if eight of them share keys with it. */
function comparedWith(text: string, textOf: (id: string) => string): number {
  const ids = Array.from({ length: 8 }, (_, i) => `sig_${i}`);
  let read = 0;
  const search = createKnownSignalSearch(
    answeredAtOnce({
      knownSignals: {
        findByExternalId: () => undefined,
        findByUrl: () => undefined,
        findNear: () => ids.map((id) => ({ place: 0, id, keys: 5 })),
        selectNear(some: readonly string[]) {
          read += some.length;
          return some.map((id) => ({ id, wire, text: textOf(id), timestamp: T0 }));
        },
        insertKeys: () => {},
        deleteKey: () => {},
        selectText: () => undefined,
        insertPlace: () => {},
        deletePlaces: () => {},
        updateWire: () => {},
        insertPerson: () => {},
      },
    }),
  );
  expect(runAtOnce(search)(aSignal('ten_a', { text, wire, nearKeys: [1, 2, 3, 4, 5] }))).toBeNull();
  return read;
}

test('compares texts of usual length with all that share keys', () => {
  expect(comparedWith('one two three four five', (id) => `${id} and other words`)).toBe(8);
});

test('compares a long text with few others, because the writer is kept for as long', () => {
  const longText = (from: number) =>
    Array.from({ length: 19_000 }, (_, i) => String.fromCodePoint(from + i)).join('');
  expect(comparedWith(longText(0x4e00), () => longText(0x7000))).toBe(1);
});
