import { expect, test } from 'vitest';
import { z } from 'zod';
import { readWordTable, wordsSchema } from '../../src/lib/word-table.ts';

test('reads a word table from the package', () => {
  expect(readWordTable('tools', wordsSchema)).toContain('Salesforce');
});

test('rejects a table that does not match its schema, naming the file and the position of the error', () => {
  const read = () => readWordTable('tools', z.array(z.object({ name: z.string() })));
  expect(read).toThrow(/^data\/words\/tools\.json is invalid\.[\s\S]*at \[0\]/);
});
