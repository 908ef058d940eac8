import { expect, test } from 'vitest';
import { represent } from '../../src/http/representation.ts';

const BR = { coding: 'br', always: false } as const;

test('requests that arrive while a coding is computed wait for the same one', async () => {
  const { inCoding } = represent({
    body: 'a sentence of the page. '.repeat(500),
    contentType: 'text/plain; charset=utf-8',
    cacheControl: 'no-cache',
    lastModified: null,
  });
  const all = Array.from({ length: 3 }, () => inCoding(BR));
  const gzipped = inCoding({ coding: 'gzip', always: false });
  const [made, ...others] = await Promise.all(all);
  for (const other of others) expect(other).toBe(made);
  expect(inCoding(BR)).toBe(made);
  expect((await gzipped).validators.etag).not.toBe(made?.validators.etag);
});
