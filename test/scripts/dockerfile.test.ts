import { expect, test } from 'vitest';
import { readCommand, readDockerfile, readPairs } from '../../scripts/image/dockerfile.ts';

test('instructions are read in order, ignoring comments and line breaks', () => {
  expect(readDockerfile('# first\nFROM node:24\n\nrun a && \\\n    b\n')).toEqual([
    { word: 'FROM', rest: 'node:24' },
    { word: 'RUN', rest: 'a &&      b' },
  ]);
  expect(readPairs('A=1 B=x=y')).toEqual({ A: '1', B: 'x=y' });
  expect(readCommand('--interval=30s CMD ["node", "x"]')).toEqual(['node', 'x']);
});
