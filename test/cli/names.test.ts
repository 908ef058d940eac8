import { expect, test } from 'vitest';
import { nameText } from '../../src/cli/arguments.ts';
import { table } from '../../src/cli/ports.ts';
import { requiredLine } from '../../src/model/text.ts';
import { run, temporaryFolder } from './process.ts';

const BAD = [
  'a\r\nb',
  'a\tb',
  'a\u001b]0;x\u0007',
  'a\u2028b',
  'a\u0085b',
  'a\u202eb',
  'a\u2066b',
  '',
  '  ',
  'a'.repeat(201),
];

test('a name with control characters or direction overrides is accepted nowhere', () => {
  for (const name of BAD) {
    expect([name, requiredLine(200).safeParse(name).success]).toEqual([name, false]);
    expect(() => nameText(name)).toThrow('Must have 1 to 200 characters');
  }
  for (const name of [' Acme & Sons ', 'شركة أكمي', 'חברת\u200f אקמה', '株式会社アクメ', 'Acme\u200d']) {
    expect(nameText(name)).toBe(name.trim());
  }
});

test('the command line creates no tenant and no key with such a name', async () => {
  using folder = temporaryFolder();
  const env = { DATA_DIR: folder.path };
  for (const command of [
    ['tenant', 'create', '--email', 'a@example.com'],
    ['key', 'create', '--tenant', 'ten_a', '--scopes', 'read'],
  ]) {
    const { code, stdout, stderr } = await run([...command, '--name', 'a\r\nb'], env);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr).toContain('line breaks or other control characters');
  }
});

test('a name stored by an earlier release is one line of a table, whatever it contains', () => {
  expect(table(['ID', 'NAME'], [['ten_a', 'a\r\nb\u001b[2J']])).toEqual([
    'ID     NAME',
    'ten_a  a\\u000d\\u000ab\\u001b[2J',
  ]);
});
