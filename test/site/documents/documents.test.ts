import { afterAll, beforeAll, expect, test } from 'vitest';
import { BASE_URL, buildTestApp, type TestApp } from '../../support/app.ts';
import { aPage, aSite } from '../../support/site-content.ts';

let t: TestApp;
beforeAll(async () => {
  t = await buildTestApp();
});
afterAll(() => t.app.close());

const text = async (url: string) => (await t.app.inject(url)).body;

test.each([
  ['/openapi.json', 'application/json'],
  ['/llms.txt', 'text/plain; charset=utf-8'],
  ['/llms-full.txt', 'text/plain; charset=utf-8'],
  ['/sitemap.xml', 'application/xml; charset=utf-8'],
  ['/sitemap.md', 'text/markdown; charset=utf-8'],
  ['/robots.txt', 'text/plain; charset=utf-8'],
  ['/.well-known/api-catalog', 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'],
  ['/.well-known/security.txt', 'text/plain; charset=utf-8'],
  ['/.well-known/mcp', 'application/json'],
  ['/.well-known/mcp/server-card.json', 'application/json'],
  ['/.well-known/oauth-protected-resource/mcp', 'application/json'],
])('%s is %s regardless of Accept, and can be cached for a while', async (url, type) => {
  for (const accept of ['*/*', 'text/markdown', 'application/json']) {
    const answer = await t.app.inject({ url, headers: { accept } });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': type,
      'cache-control': 'public, max-age=300',
      etag: expect.stringMatching(/^"[^"]+"$/),
      'last-modified': expect.stringMatching(/GMT$/),
      'access-control-allow-origin': '*',
    });
  }
});

test('llms.txt has the format of llmstxt.org, with the length of each entry', async () => {
  const llms = await text('/llms.txt');
  const [title, , summary] = llms.split('\n');
  expect(title).toBe('# Brook Electrical');
  expect(summary).toBe('> Electricians in Brookford: rewires, boards and chargers.');
  expect([...llms.matchAll(/^## (.+)$/gm)].map(([, name]) => name)).toEqual([
    'Pages',
    'Developers',
    'API',
    'Signal API',
    'Optional',
  ]);
  const entries = llms.split('\n').filter((line) => line.startsWith('- '));
  expect(entries.length).toBeGreaterThan(10);
  for (const entry of entries) expect(entry).toMatch(/^- (\[[^\]]+\]\(https:\S+\)|`[^`]+`): .+ \(\d+\)$/);
  expect(llms).toContain(`- [Pricing](${BASE_URL}/pricing.md): What the page Pricing is about. (12)`);
});

test('llms-full.txt contains the text of every page', async () => {
  const full = await text('/llms-full.txt');
  for (const page of aSite().pages) {
    expect(full).toContain(`Source: ${BASE_URL}${page.path}\n\n${page.markdown.trim()}`);
  }
});

test('sitemap.xml is well-formed, and lists the absolute URL and modification date of every page', async () => {
  const xml = await text('/sitemap.xml');
  expect(xml).toMatch(/^<\?xml version="1.0" encoding="UTF-8"\?><urlset xmlns="[^"]+">/);
  expect(xml).toContain(
    `<url><loc>${BASE_URL}/pricing</loc><lastmod>2025-11-05T12:00:00.000Z</lastmod></url>`,
  );
  expect(xml.match(/<url>/g)).toHaveLength(aSite().pages.length);
});

test('names and URLs are escaped in sitemap.xml', async () => {
  const other = await buildTestApp({
    env: { BASE_URL: 'https://x.example/a&b' },
    content: aSite({ pages: [aPage('/', 'A', 'Pages')] }),
  });
  expect((await other.app.inject('/sitemap.xml')).body).toContain('<loc>https://x.example/a&amp;b/</loc>');
  await other.app.close();
});

test('sitemap.md lists the pages under their headings', async () => {
  const map = await text('/sitemap.md');
  expect(map).toContain('# Sitemap of Brook Electrical');
  const developers = map.slice(map.indexOf('## Developers'), map.indexOf('## Optional'));
  expect(developers).toContain(`- [Errors](${BASE_URL}/developers/errors): What the page Errors is about.`);
  expect(map).toContain(`${BASE_URL}/llms.txt`);
});

test('robots.txt allows all pages, names the sitemap, and states the permitted uses', async () => {
  const lines = (await text('/robots.txt')).split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'User-agent: *',
      'Content-Signal: search=yes, ai-input=yes, ai-train=no',
      'Allow: /',
      `Sitemap: ${BASE_URL}/sitemap.xml`,
    ]),
  );
});

test("the content signals in robots.txt are those of the site's identity", async () => {
  const site = aSite();
  const contentSignals = { search: false, aiInput: false, aiTrain: true };
  const other = await buildTestApp({ content: { ...site, identity: { ...site.identity, contentSignals } } });
  expect((await other.app.inject('/robots.txt')).body).toContain(
    'Content-Signal: search=no, ai-input=no, ai-train=yes',
  );
  await other.app.close();
});

interface Linkset {
  anchor: string;
  item?: { href: string }[];
  'service-desc'?: { href: string; type: string }[];
  'service-doc'?: { href: string }[];
  status?: { href: string }[];
}

test('the API catalog is a linkset of every API with its description, documentation and status', async () => {
  const answer = await t.app.inject('/.well-known/api-catalog');
  const [catalog, ...apis] = answer.json().linkset as Linkset[];
  expect(catalog?.anchor).toBe(`${BASE_URL}/.well-known/api-catalog`);
  expect(catalog?.item?.map(({ href }) => href)).toEqual(apis.map(({ anchor }) => anchor));
  for (const api of apis) {
    const description = api.anchor.endsWith('/v1') ? '/v1/openapi.json' : '/openapi.json';
    expect(api['service-desc']).toEqual([{ href: `${BASE_URL}${description}`, type: 'application/json' }]);
    expect(api['service-doc']?.[0]?.href).toBe(`${BASE_URL}/developers`);
    expect(api.status?.[0]?.href).toBe(`${BASE_URL}/api/v1/status`);
  }
  expect(answer.headers.link).toBe(`<${BASE_URL}/.well-known/api-catalog>; rel="api-catalog"`);
});

test('everything listed in the API catalog exists', async () => {
  const { linkset } = (await t.app.inject('/.well-known/api-catalog')).json() as { linkset: Linkset[] };
  const named = linkset.flatMap((entry) =>
    [entry['service-desc'], entry['service-doc'], entry.status].flat(),
  );
  const paths = new Set(
    named.filter((link) => link !== undefined).map(({ href }) => href.slice(BASE_URL.length)),
  );
  for (const path of paths) expect([path, (await t.app.inject(path)).statusCode]).toEqual([path, 200]);
});

test('security.txt has the required fields, and its expiry stays in the future while the server runs', async () => {
  const own = await buildTestApp();
  const read = async () => {
    const { body } = await own.app.inject('/.well-known/security.txt');
    return Object.fromEntries(
      body
        .trim()
        .split('\n')
        .map((line) => line.split(/: (.*)/, 2)),
    );
  };
  expect(await read()).toMatchObject({
    Contact: 'mailto:hello@brook.example',
    Canonical: `${BASE_URL}/.well-known/security.txt`,
    'Preferred-Languages': 'en-GB',
  });
  const day = 86_400_000;
  for (let i = 0; i < 24; i++) {
    const left = Date.parse((await read()).Expires) - own.clock.now();
    expect(left).toBeGreaterThan(150 * day);
    expect(left).toBeLessThan(365 * day);
    own.clock.advance(30 * day + 12_345);
  }
  await own.app.close();
});

test('security.txt keeps its ETag until it changes', async () => {
  const own = await buildTestApp();
  const tag = async () => (await own.app.inject('/.well-known/security.txt')).headers.etag;
  const first = await tag();
  own.clock.advance(60_000);
  expect(await tag()).toBe(first);
  own.clock.advance(8 * 86_400_000);
  expect(await tag()).not.toBe(first);
  await own.app.close();
});

test('what llms.txt is made of is generated in earlier turns of the event loop', async () => {
  let [turn, isOver] = [0, false];
  const count = () => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  const turns = { completed: [] as number[], read: [] as number[] };
  const page = aPage('/late', 'Late', 'Developers');
  const late = {
    ...page,
    get description() {
      turns.read.push(turn);
      return page.description;
    },
  };
  const complete = () => {
    turns.completed.push(turn);
    return late;
  };
  const site = await buildTestApp({ content: aSite({ pages: [{ ...page, complete }] }) });
  count();
  const { body } = await site.app.inject('/llms.txt');
  isOver = true;
  await site.app.close();
  expect(body).toContain('/late.md');
  expect(turns.completed).toHaveLength(1);
  expect(Math.min(...turns.read)).toBeGreaterThan(Math.max(...turns.completed));
});
