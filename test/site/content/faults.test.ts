import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ContentError, type ContentFault } from '../../../src/site/content/page-file.ts';
import { loadSiteContent } from '../../../src/site/content/site-content.ts';
import { pageFile, SITE_JSON, siteFolder } from '../../support/site-folder.ts';

/** The errors of a site with these files, with paths relative to its folder. */
async function faultsOf(files: Record<string, string | Buffer>): Promise<ContentFault[]> {
  using folder = siteFolder(files);
  const error = await loadSiteContent({ contentDir: folder.path, baseUrl: 'https://site.example' }).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ContentError)) throw new Error(`no ContentError but ${error}`);
  const printed = error.faults.map(({ file, line, column, detail }) => {
    const place = column === undefined ? line : `${line}:${column}`;
    return `  ${file}:${place}: ${detail}`;
  });
  expect(error.message.split('\n').slice(1).join('\n')).toBe(printed.join('\n'));
  return error.faults.map((fault) => ({ ...fault, file: fault.file.slice(folder.path.length + 1) }));
}

const site = (change: Record<string, unknown>) => JSON.stringify({ ...SITE_JSON, ...change }, null, 2);

test.each<[string, Record<string, string | Buffer>, string, number, RegExp]>([
  [
    'YAML that cannot be read',
    { 'a.md': '---\ntitle: A\ndescription: b: c\n---\n# A\n' },
    'a.md',
    3,
    /quotes/,
  ],
  [
    'a value between asterisks',
    { 'a.md': '---\ntitle: A\ndescription: *ours*\n---\n# A\n' },
    'a.md',
    3,
    /"\*ours\*".*quotes/,
  ],
  ['front matter that is missing', { 'a.md': '# A\n' }, 'a.md', 1, /front matter/],
  ['front matter without an end', { 'a.md': '---\ntitle: A\n# A\n' }, 'a.md', 1, /front matter/],
  [
    'front matter that is too long',
    { 'a.md': pageFile('# A\n', { label: 'x'.repeat(9000), note: 'y'.repeat(9000) }) },
    'a.md',
    6,
    /front matter has 18\d\d\d characters; .* at most 16000/,
  ],
  ['an unknown field', { 'a.md': pageFile('# A\n', { auther: 'me' }) }, 'a.md', 5, /no field "auther"/],
  ['a missing title', { 'a.md': `---\ndescription: ${'d'.repeat(60)}\n---\n# A\n` }, 'a.md', 2, /title/],
  ['a long title', { 'a.md': pageFile('# A\n', { title: 'x'.repeat(61) }) }, 'a.md', 2, /title: .*60/],
  ['a short description', { 'a.md': pageFile('# A\n', { description: 'short' }) }, 'a.md', 3, /50 to 160/],
  ['a date that is none', { 'a.md': pageFile('# A\n', { updated: 'yesterday' }) }, 'a.md', 4, /date/],
  ['an unknown section', { 'a.md': pageFile('# A\n', { section: 'Blog' }) }, 'a.md', 5, /no section "Blog"/],
  ['an unknown layout', { 'a.md': pageFile('# A\n', { layout: 'wide' }) }, 'a.md', 5, /layout/],
  [
    'an address taken twice',
    { 'a.md': pageFile('# A\n', { path: '/' }) },
    'index.md',
    2,
    /address \/ already/,
  ],
  ['an address of another face', { 'api/x.md': pageFile('# A\n') }, 'api/x.md', 2, /reserved by the server/],
  ['an address in capitals', { 'About.md': pageFile('# A\n') }, 'About.md', 2, /lower case/],
  ['no first-level heading', { 'a.md': pageFile('\nHello\n') }, 'a.md', 6, /first-level heading/],
  ['two first-level headings', { 'a.md': pageFile('# A\n\n# B\n') }, 'a.md', 8, /one first-level heading/],
  ['a level left out', { 'a.md': pageFile('# A\n\n### C\n') }, 'a.md', 8, /level 3 cannot follow level 1/],
  [
    'a link to no page',
    { 'a.md': pageFile('# A\n\nSo\n[x](/nope)\n') },
    'a.md',
    9,
    /"\/nope" leads to no page/,
  ],
  [
    'a link to no anchor',
    { 'a.md': pageFile('# A\n\n[x](/#nope)\n') },
    'a.md',
    8,
    /no heading with the anchor "#nope"/,
  ],
  ['an anchor of its own that is not there', { 'a.md': pageFile('# A\n\n[x](#b)\n') }, 'a.md', 8, /"#b"/],
  ['a relative link', { 'a.md': pageFile('# A\n\n[x](index.md)\n') }, 'a.md', 8, /must begin with/],
  [
    'a link in a table',
    { 'a.md': pageFile('# A\n\n| a |\n|---|\n| [x](/nope) |\n') },
    'a.md',
    10,
    /leads to no page/,
  ],
  ['an image that is not there', { 'a.md': pageFile('# A\n\n![x](/assets/x.png)\n') }, 'a.md', 8, /no image/],
  [
    'an image of another site',
    { 'a.md': pageFile('# A\n\n![x](https://x.example/a.png)\n') },
    'a.md',
    8,
    /no image/,
  ],
  [
    'an image without a size',
    { 'assets/a.svg': '<svg xmlns="http://www.w3.org/2000/svg"></svg>' },
    'assets/a.svg',
    1,
    /width and height/,
  ],
  ['a file that is not served', { 'assets/a.exe': 'MZ' }, 'assets/a.exe', 1, /not served/],
  [
    'an unknown language of code',
    { 'a.md': pageFile('# A\n\n```klingon\nx\n```\n') },
    'a.md',
    8,
    /"klingon"/,
  ],
  [
    'an unknown placeholder',
    { 'a.md': pageFile('# A\n\n{{phonne}}\n') },
    'a.md',
    8,
    /no placeholder "{{phonne}}"/,
  ],
  [
    'an unknown tag of the reference',
    { 'a.md': pageFile('# A\n\n{{operations: Leads, Signal}}\n') },
    'a.md',
    8,
    /no tag "Signal".*known are Account, Signals, /,
  ],
  [
    'a mark of the reference that names no tag',
    { 'a.md': pageFile('# A\n\n{{operations:}}\n') },
    'a.md',
    8,
    /no tag "".*known are Account, Signals, /,
  ],
  [
    'a second mark of the reference',
    { 'a.md': pageFile('# A\n\n{{operations: Leads}}\n\n{{operations: Keys}}\n') },
    'a.md',
    10,
    /one mark .* all tags/,
  ],
])('%s is reported with its file and line', async (_what, files, file, line, detail) => {
  const [fault, ...more] = await faultsOf(files);
  expect(fault).toEqual({ file, line, detail: expect.stringMatching(detail) });
  expect(more).toEqual([]);
});

test.each<[string, string, number, number, RegExp]>([
  ['is cut off', '{\n  "name": "x"', 2, 14, /Invalid JSON: a "}" is missing/],
  ['has a comma too many', site({}).replace(/\n}$/, ',\n}'), 20, 1, /Invalid JSON: .*no comma/],
  [
    'lacks a comma',
    site({}).replace('",\n  "lang"', '"\n  "lang"'),
    4,
    3,
    /Invalid JSON: a comma is missing/,
  ],
  ['lacks a colon', site({}).replace('"lang":', '"lang"'), 4, 10, /Invalid JSON: the colon/],
  ['has a word without quotes', site({}).replace('"en-GB"', 'en-GB'), 4, 11, /Invalid JSON: .*double quotes/],
  ['has single quotes', "{ 'name': 'x' }", 1, 3, /Invalid JSON: /],
  ['has a comment', site({}).replace('{', '{ // ours'), 1, 3, /Invalid JSON: JSON has no comments/],
  ['has a string without an end', site({}).replace('"en-GB"', '"en-GB'), 4, 11, /Invalid JSON: the string/],
  ['is empty', '', 1, 1, /Invalid JSON/],
  ['is no object', '"hello"', 1, 1, /object/],
  ['says a field twice', site({}).replace('"lang"', '"name": "y",\n  "lang"'), 4, 3, /"name" .* second time/],
  ['is too long', site({ areaServed: Array(2000).fill('x'.repeat(50)) }), 1737, 47, /at most 100000/],
  ['has an unknown field', site({ nmae: 'x' }), 20, 3, /no field "nmae"/],
  ['has an unknown field inside', site({ action: { labl: 'x' } }), 21, 5, /no field "action.labl"/],
  ['has an address without @', site({ email: 'hello' }), 5, 3, /email/],
  ['navigates to no page', site({ navigation: [{ label: 'X', path: '/x' }] }), 17, 7, /"\/x"/],
  ['has an accent that is too pale', site({ accent: '#ffcc00' }), 20, 3, /accent: #ffcc00 .*contrast/],
  ['has an accent that is no colour', site({ accent: 'red' }), 20, 3, /accent: must be a colour/],
  ['names an icon that is not there', site({ icon: 'x.svg' }), 20, 3, /assets\/x\.svg/],
])('a site.json that %s is reported with line and column', async (_what, text, line, column, detail) => {
  const faults = await faultsOf({ 'site.json': text });
  expect(faults.at(-1)).toEqual({ file: 'site.json', line, column, detail: expect.stringMatching(detail) });
  expect(faults.every(({ detail }) => !/yaml/i.test(detail))).toBe(true);
});

test('all errors are reported at once', async () => {
  const faults = await faultsOf({
    'a.md': pageFile('# A\n\n[x](/nope)\n[y](/neither)\n'),
    'b.md': pageFile('# B\n\n## C\n\n#### D\n\n[to a page whose head cannot be read](/c)\n'),
    'c.md': pageFile('# C\n', { oder: '7' }),
  });
  const places = faults.map(({ file, line }) => `${file}:${line}`);
  expect(places.sort()).toEqual(['a.md:8', 'a.md:9', 'b.md:10', 'c.md:5']);
});

test('tens of thousands of errors on a page take no more time each than one', {
  timeout: 20_000,
}, async () => {
  const marks = '{{phonne}} {{operations: Leed}}\n'.repeat(55_000);
  const faults = await faultsOf({ 'a.md': pageFile(`# A\n\n${marks}`) });
  expect(faults).toHaveLength(110_000);
  expect(faults[54_999]).toMatchObject({ line: 55_007, detail: expect.stringContaining('{{phonne}}') });
});

test('a folder without site.json is reported with a solution', async () => {
  const missing = join('/nonexistent', 'content');
  const load = loadSiteContent({ contentDir: missing, baseUrl: 'https://site.example' });
  await expect(load).rejects.toThrow(/site\.json:1: .*CONTENT_DIR/);
});

test('a site without a home page is refused', async () => {
  using folder = siteFolder({
    'index.md': pageFile('# A\n', { path: '/start' }),
    'site.json': site({ navigation: [{ label: 'S', path: '/start' }] }),
  });
  const load = loadSiteContent({ contentDir: folder.path, baseUrl: 'https://site.example' });
  await expect(load).rejects.toThrow(/index\.md:1: There is no home page/);
});
