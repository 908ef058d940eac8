import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../src/config.ts';
import { runInProcess } from './cli/in-process.ts';
import { buildTestApp } from './support/app.ts';
import { ROUTES_FILE, withRouteTable } from './support/route-table.ts';

const FILES = ['README.md', ...globSync('docs/**/*.md')];
const read = (file: string) => readFileSync(file, 'utf8');

test('the route table lists every operation of /v1; npm run openapi writes it', async () => {
  const { app } = await buildTestApp();
  const { data } = (await app.inject('/v1/operations')).json();
  await app.close();
  expect(data.length).toBeGreaterThan(60);
  const text = read(ROUTES_FILE);
  expect(text).toBe(withRouteTable(text, data));
});

test.each(FILES)('every link in %s to another file leads to an existing file and heading', (file) => {
  const prose = read(file).replace(/^( {4}|```).*$|`[^`\n]*`/gm, '');
  for (const [, target = ''] of prose.matchAll(/\]\(((?!https?:)[^)\s]+)\)/g)) {
    const [path = '', anchor] = target.split('#');
    const found = join(dirname(file), path);
    expect([target, existsSync(found)]).toEqual([target, true]);
    if (anchor === undefined) continue;
    const headings = [...read(path === '' ? file : found).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .replaceAll(' ', '-'),
    );
    expect(headings).toContain(anchor);
  }
});

test('the two documented code paths have at most 12 hops each, and name existing files', () => {
  const text = read('docs/architecture.md');
  const named = [...text.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file = '']) => join('src', file));
  expect(named.length).toBeGreaterThan(25);
  expect(named.filter((file) => !existsSync(file))).toEqual([]);
  for (const way of ['A post comes in', 'A delivery goes out']) {
    const [, section = ''] = text.split(`\n## ${way}\n`);
    const hops = section.split('\n## ')[0]?.match(/^\d+\. /gm)?.length;
    expect(hops).toBeGreaterThan(5);
    expect(hops).toBeLessThanOrEqual(12);
  }
});

test('the upgrade notes name the current scoring model', () => {
  const { version } = JSON.parse(read('src/signals/weights.json'));
  expect(read('docs/operation/upgrade.md')).toContain(`Scores come from model ${version},`);
});

test('the glossary lists terms that the code uses', () => {
  const rows = [...read('docs/glossary.md').matchAll(/^\| (?!Here|-)([^|]+) \|/gm)].map(
    ([, term = '']) => term,
  );
  const terms = rows.flatMap((row) =>
    row
      .replace(/ \(.*?\)|: .*/g, '')
      .split(', ')
      .map((term) => term.trim()),
  );
  expect(terms.length).toBeGreaterThan(40);
  const code = globSync('src/**/*.ts')
    .map((file) => `${file}\n${read(file)}`)
    .join('\n');
  const unused = terms.filter((term) => !new RegExp(term.replaceAll(' ', '[ _-]?'), 'i').test(code));
  expect(unused.filter((term) => !['room', 'aim'].includes(term))).toEqual([]);
});

test('every command and option of the command line is documented', async () => {
  const page = read('docs/command-line.md');
  const { stdout } = await runInProcess(['--help']);
  const commands = [...stdout.matchAll(/^ {2}([a-z]+)[ \n]/gm)].map(([, name = '']) => name);
  expect(commands.length).toBeGreaterThan(8);
  for (const command of commands.filter((name) => name !== 'help')) expect(page).toContain(`\`${command}`);
});

test('every setting is documented', () => {
  const asked = new Set<string>();
  const env = new Proxy({}, { get: (_target, name) => void asked.add(String(name)) });
  loadConfig(env);
  const page = read('docs/configuration.md');
  expect(asked.size).toBeGreaterThan(10);
  for (const name of asked) expect(page).toContain(`\`${name}\``);
});

test('the README is short and describes nothing that does not exist', () => {
  const lines = read('README.md').trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(140);
  for (const file of FILES.filter((name) => !name.includes('decisions'))) {
    expect(read(file)).not.toMatch(/not there yet|coming soon|will be added/i);
  }
});
