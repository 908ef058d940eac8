import { describe, expect, test } from 'vitest';
import { loadSiteContent, type SiteContent, type SitePage } from '../../../src/site/content/site-content.ts';
import { pageFile, SITE_JSON, siteFolder } from '../../support/site-folder.ts';

const BASE = 'https://site.example';
/** One pixel wide and two high. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAACCAYAAACZgbYnAAAAEElEQVR4nGP8z8DwnwEKAAAUBgIBHUKWNQAAAABJRU5ErkJggg==',
  'base64',
);

async function load(files: Record<string, string | Buffer>): Promise<SiteContent> {
  using folder = siteFolder(files);
  return await loadSiteContent({ contentDir: folder.path, baseUrl: BASE });
}

/** The page `/a` of a site, with `body` as its body. */
async function render(body: string, files: Record<string, string | Buffer> = {}): Promise<SitePage> {
  const { pages } = await load({ 'a.md': pageFile(body), ...files });
  const page = pages.find(({ path }) => path === '/a');
  if (page === undefined) throw new Error('no page /a');
  return page;
}

const mainOf = ({ html }: SitePage) => /<main id="main">(.*)<\/main>/s.exec(html)?.[1] ?? '';

describe('pages contain nothing that their Content-Security-Policy forbids', () => {
  test('raw HTML is shown as text', async () => {
    const page = await render('# A\n\n<script>alert(1)</script> <img src=x onerror=alert(1)>\n');
    expect(mainOf(page)).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page.html).not.toMatch(/<script>|<img src=x/);
  });

  test('a link that would run a script is not rendered as a link', async () => {
    const page = await render('# A\n\n[x](javascript:alert(1))\n');
    expect(page.html).not.toContain('href="javascript:');
  });

  test('columns are aligned by class, never by style attribute', async () => {
    const page = await render('# A\n\n| a | b | c |\n|---|:-:|--:|\n| 1 | 2 | 3 |\n');
    expect(page.html).toContain('<th class="right" scope="col">c</th>');
    expect(page.html).toContain('<td class="center">2</td>');
    expect(page.html).not.toContain('style=');
  });

  test('code is highlighted by class, and its text is escaped', async () => {
    const page = await render('# A\n\n```js main.js\nconst a = "<b>";\n```\n');
    expect(page.html).toContain('<figcaption>main.js</figcaption>');
    expect(page.html).toContain('<span class="t-keyword">const</span>');
    expect(page.html).toContain('&lt;b&gt;');
    expect(page.html).not.toContain('style=');
  });

  test.each(['c++', 'c#', 'cs', 'sh', 'ts', 'yml'])('the language name %s is recognised', async (name) => {
    const page = await render(`# A\n\n\`\`\`${name}\nx = "1"\n\`\`\`\n`);
    expect(page.html).toMatch(/class="t-\w+/);
  });

  test('structured data cannot close its script element', async () => {
    const { pages } = await load({
      'site.json': JSON.stringify({ ...SITE_JSON, name: '</script><script>alert(1)</script>' }),
    });
    const [, json = ''] =
      /<script type="application\/ld\+json">(.*?)<\/script>/s.exec(pages[0]?.html ?? '') ?? [];
    expect(JSON.parse(json)['@graph'][0].name).toBe('</script><script>alert(1)</script>');
  });

  test('URLs and errors are escaped, whatever they contain', async () => {
    const { notFoundHtml, errorHtml } = await load({});
    const evil = '"><img src=x onerror=alert(1)>';
    const notFound = notFoundHtml({ path: evil, links: [{ title: evil, url: evil }], nearest: [] });
    const error = errorHtml({ status: 406, title: evil, detail: evil });
    expect(`${notFound}${error}`).not.toContain('<img src=x');
    expect(notFound).toContain('&quot;&gt;&lt;img src=x');
  });
});

describe('a page describes itself', () => {
  test('to search engines, to link previews, and to agents', async () => {
    const { html } = await render('# A\n', { 'a.md': pageFile('# A\n', { title: 'Bells & "whistles"' }) });
    for (const tag of [
      '<html lang="en-GB">',
      '<title>Bells &amp; &quot;whistles&quot; – Brook Electrical</title>',
      `<meta name="description" content="${'d'.repeat(60)}">`,
      `<link rel="canonical" href="${BASE}/a">`,
      `<link rel="alternate" type="text/markdown" href="${BASE}/a.md" title="This page as markdown">`,
      `<meta property="og:url" content="${BASE}/a">`,
      '<meta property="og:title" content="Bells &amp; &quot;whistles&quot;">',
      '<a class="skip" href="#main">',
    ]) {
      expect(html).toContain(tag);
    }
  });

  test("a title that would be too long with the site's name is used without it", async () => {
    const title = 'x'.repeat(50);
    const { html } = await render('# A\n', { 'a.md': pageFile('# A\n', { title }) });
    expect(html).toContain(`<title>${title}</title>`);
  });

  test('llms.txt is linked before any other content', async () => {
    const { html, markdown } = await render('# A\n\nHello.\n');
    expect(html.indexOf('href="/llms.txt"')).toBeLessThan(html.indexOf('<nav'));
    expect(markdown).toBe(`# A\n\n> For AI agents: the index of this site is ${BASE}/llms.txt\n\nHello.\n`);
  });

  test('its link in the navigation is marked as current', async () => {
    const { pages } = await load({});
    expect(pages[0]?.html).toContain('<a href="/" aria-current="page">Home</a>');
  });

  test('its modification date is the one it states', async () => {
    expect((await render('# A\n')).lastModified).toBe(Date.UTC(2026, 10, 20));
  });

  test('a response that is not a page is excluded from indexing, and has no canonical URL', async () => {
    const { notFoundHtml } = await load({});
    const html = notFoundHtml({ path: '/x', links: [], nearest: [] });
    expect(html).toContain('<meta name="robots" content="noindex">');
    expect(html).not.toContain('rel="canonical"');
  });
});

describe('the markdown of a page', () => {
  test('has absolute links, and unmodified code', async () => {
    const { markdown } = await render(
      [
        '# A',
        '',
        '[one](/) [two](#b "title") `[code](/)` ![x](/assets/x.png) [three][ref] [out](https://out.example/)',
        '',
        '```text',
        '[fenced](/)',
        '```',
        '',
        '## B',
        '',
        '[ref]: /a#b',
        '',
      ].join('\n'),
      { 'assets/x.png': PNG },
    );
    expect(markdown).toContain(`[one](${BASE}/)`);
    expect(markdown).toContain(`[two](${BASE}/a#b "title")`);
    expect(markdown).toContain('`[code](/)`');
    expect(markdown).toMatch(/!\[x\]\(https:\/\/site\.example\/assets\/x\.[0-9a-f]{10}\.png\)/);
    expect(markdown).toContain('[out](https://out.example/)');
    expect(markdown).toContain('\n[fenced](/)\n');
    expect(markdown).toContain(`[ref]: ${BASE}/a#b`);
  });

  test('has absolute links after code of one character, too', async () => {
    const { markdown } = await render('# A\n\n`q` and `r` [one](/) and `s`\n');
    expect(markdown).toContain(`\`q\` and \`r\` [one](${BASE}/) and \`s\``);
  });

  test('has no front matter', async () => {
    expect((await render('# A\n\nHello.\n')).markdown).not.toContain('updated:');
  });

  test('is counted in tokens', async () => {
    const short = await render('# A\n\nHello.\n');
    const long = await render(`# A\n\n${'Hello there. '.repeat(200)}\n`);
    expect(short.tokens).toBeGreaterThan(10);
    expect(long.tokens).toBeGreaterThan(short.tokens + 500);
  });
});

describe('plain markdown produces the design', () => {
  const landing = (body: string) => render('', { 'a.md': pageFile(body, { layout: 'landing' }) });

  test('on a landing page, second-level headings become bands, and their third-level ones cards', async () => {
    const page = await landing(
      '# A\n\nLead.\n\n## B\n\nIntro.\n\n### C\n\nOne.\n\n### D\n\nTwo.\n\n## E\n\nText.\n',
    );
    const main = mainOf(page);
    expect(main.match(/<section class="band">/g)).toHaveLength(1);
    expect(main.match(/<section class="band text">/g)).toHaveLength(1);
    expect(main.match(/<div class="card">/g)).toHaveLength(2);
    expect(main).toContain('<p class="lead">Lead.</p>');
  });

  test('a paragraph of several links becomes buttons, and a single one a "more" link', async () => {
    const page = await render(
      '# A\n\n[one](/)\n[two](/a)\n\n[three](/)\n\n[call](tel:123)\n\nSee [four](/).\n',
    );
    expect(page.html.match(/<p class="actions">/g)).toHaveLength(2);
    expect(page.html).toContain('<p class="more"><a href="/">three</a></p>');
    expect(page.html).toContain('<p>See <a href="/">four</a>.</p>');
  });

  test('adjacent quotes share a row, and the attribution line is marked', async () => {
    const apart = await render('# A\n\n> One.\n\ntext\n\n> Two.\n');
    expect(apart.html).not.toContain('class="quotes"');
    const together = await render('# A\n\n## B\n\n> One.\n>\n> — B, C\n\n> Two.\n');
    expect(together.html).toContain('<p class="by">— B, C</p>');
    expect(together.html.match(/<blockquote>/g)).toHaveLength(2);
    expect(together.html.match(/<div class="quotes">/g)).toHaveLength(1);
  });

  test('images have their size, and load lazily except for the first one', async () => {
    const page = await render('# A\n\n![one](/assets/x.png)\n\n![two](/assets/x.png)\n', {
      'assets/x.png': PNG,
    });
    const images = page.html.match(/<img [^>]*alt="(one|two)"[^>]*>/g) ?? [];
    expect(images).toHaveLength(2);
    for (const image of images) expect(image).toMatch(/ width="1" height="2"/);
    expect(images[0]).not.toContain('lazy');
    expect(images[1]).toContain('loading="lazy"');
  });

  test('a long page has a table of contents, a short one does not', async () => {
    const sections = (count: number, words: number) =>
      `# A\n\n${Array.from({ length: count }, (_, i) => `## Part ${i}\n\n${'word '.repeat(words)}\n`).join('\n')}`;
    expect((await render(sections(5, 300))).html).toContain('<a href="#part-3">Part 3</a>');
    expect((await render(sections(5, 3))).html).not.toContain('class="toc"');
  });

  test('placeholders are filled from site.json, also in code', async () => {
    const page = await render(
      '# A\n\nCall [{{phone}}]({{phone_link}}).\n\n```sh\ncurl {{base_url}}/api/health\n```\n',
    );
    expect(page.html).toContain('<a href="tel:01632960001">01632 960001</a>');
    expect(page.markdown).toContain(`curl ${BASE}/api/health`);
  });
});

test('a code in a heading creates the anchor that problem documents link to', async () => {
  const { headings } = await render('# A\n\n## `NOT_FOUND`\n\n## Where, and when?\n');
  expect(headings.map(({ id, level }) => `${level} ${id}`)).toEqual([
    '1 a',
    '2 not-found',
    '2 where-and-when',
  ]);
});

test('headings with the same text have different anchors', async () => {
  const page = await render('# B\n\n## B\n\n### B 2\n\n### B\n\n### B\n\n### B 2\n');
  expect(page.headings.map(({ id }) => id)).toEqual(['b', 'b-1', 'b-2', 'b-3', 'b-4', 'b-2-1']);
  expect(page.html).toContain('<h2 id="b-1"><a class="anchor" href="#b-1">B</a></h2>');
  expect(page.html).toContain('<h1 id="b">B</h1>');
});

test('a page with 50,000 equal headings and tables is rendered', { timeout: 20_000 }, async () => {
  const page = await render(
    `# A\n\n## B\n\n${'| a |\n|---|\n\n'.repeat(50_000)}${'## B\n\n'.repeat(50_000)}`,
  );
  expect(page.headings.at(-1)?.id).toBe('b-50000');
  expect(page.html.split('aria-label="Table: B"')).toHaveLength(50_001);
});

test('pages are sorted by the order of their sections, then by their own', async () => {
  const { pages } = await load({
    'z.md': pageFile('# Z\n', { order: '1' }),
    'b.md': pageFile('# B\n'),
    'c.md': pageFile('# C\n', { section: 'Developers', order: '0' }),
  });
  expect(pages.map(({ path }) => path)).toEqual(['/z', '/', '/b', '/c']);
});

test('the URL of an asset changes with its bytes', async () => {
  const address = async (bytes: Buffer) => {
    const { assets } = await load({ 'assets/x.png': bytes });
    return assets.find(({ contentType }) => contentType === 'image/png')?.path;
  };
  const first = await address(PNG);
  expect(first).toMatch(/^\/assets\/x\.[0-9a-f]{10}\.png$/);
  expect(await address(PNG)).toBe(first);
  expect(await address(Buffer.concat([PNG, Buffer.from('x')]))).not.toBe(first);
});
