import { expect, test } from 'vitest';
import { z } from 'zod';
import { readWordTable, wordsSchema } from '../../src/lib/word-table.ts';

test('a table of words is read from the package', () => {
  expect(readWordTable('tools', wordsSchema)).toContain('Salesforce');
});

test('a table that does not fit its schema is refused with its file and the place of the fault', () => {
  const read = () => readWordTable('tools', z.array(z.object({ name: z.string() })));
  expect(read).toThrow(/^data\/words\/tools\.json is broken\.[\s\S]*at \[0\]/);
});
