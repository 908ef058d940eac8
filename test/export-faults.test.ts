import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from './cli/process.ts';
import { exportFaults } from './export-faults.ts';

test('reports exports that no other file uses, however they are imported', () => {
  using folder = temporaryFolder();
  const file = (name: string, text: string) => writeFileSync(join(folder.path, name), text);
  mkdirSync(join(folder.path, 'inner'));
  const lines = [
    'export function taken(): Shape { return own; }',
    'export async function handedOn() {}',
    'export const own = 1;',
    'export interface Shape { a: 1 }',
    'export type Dead = 2;',
    'export class Late {}',
  ];
  file('a.ts', lines.join('\n'));
  file('b.ts', "export { handedOn } from './a.ts';\nexport const all = 1;\nexport const of = 2;\n");
  file('c.ts', "export const everything = 1;\nimport * as c from './b.ts';\n");
  file('inner/d.ts', "import {\n  type Other as O,\n  taken as mine,\n} from '../a.ts';\n");
  file('inner/e.ts', "const { Late } = await import('../a.ts');\nconst whole = import('../c.ts');\n");
  mkdirSync(join(folder.path, 'src'));
  file('src/f.ts', 'export function forTests() {}\nexport function used() {}\nconst own = used();\n');
  file('g.ts', "import { forTests, used } from './src/f.ts';\n");
  expect(exportFaults([folder.path])).toEqual([
    expect.stringMatching(/a\.ts: no other file imports "own"/),
    expect.stringMatching(/a\.ts: the type "Dead" is not used/),
    expect.stringMatching(/src\/f\.ts: only tests use "forTests"/),
  ]);
});
