import { expect, test } from 'vitest';
import { validatorsOf } from '../../src/detection/reader.ts';

const pageWith = (headers: Record<string, string>) =>
  ({ headers }) as unknown as Parameters<typeof validatorsOf>[0];

test('validators are kept for the next request, unless they are so long that the host would refuse them', () => {
  const lastModified = 'Fri, 27 Nov 2026 08:00:00 GMT';
  expect(validatorsOf(pageWith({ etag: '"a"', 'last-modified': lastModified }))).toEqual({
    etag: '"a"',
    lastModified,
  });
  expect(validatorsOf(pageWith({ etag: `"${'a'.repeat(14_000)}"` }))).toEqual({
    etag: null,
    lastModified: null,
  });
});
