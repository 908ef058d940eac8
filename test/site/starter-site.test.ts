import { beforeAll, describe, expect, test } from 'vitest';
import { createProblems } from '../../src/http/problems.ts';
import { ERROR_CODES } from '../../src/model/errors.ts';
import type { SiteContent, SitePage } from '../../src/site/content/site-content.ts';
import { BASE_URL } from '../support/app.ts';
import { loadStarterSite } from '../support/starter-site.ts';

let site: SiteContent;
beforeAll(async () => {
  site = await loadStarterSite();
});

/** Read from the final HTML by plain text search, independently of the code that renders it. */
const idsOf = ({ html }: SitePage) => [...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
const hrefsOf = ({ html }: SitePage) =>
  [...html.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, href = '']) => href);

test('it has the pages that a trade business needs, and the developer portal', () => {
  expect(site.pages.map(({ path }) => path)).toEqual(
    expect.arrayContaining([
      ...['/', '/services', '/areas', '/reviews', '/pricing', '/contact', '/about', '/emergency', '/faq'],
      ...[
        '/product',
        '/developers',
        '/developers/quick-start',
        '/developers/signal-api',
        '/developers/webhooks',
        '/developers/polling',
      ],
      ...['/developers/errors', '/developers/rate-limits', '/developers/versioning', '/developers/site-api'],
    ]),
  );
});

test('every page has one first-level heading, and a title and description of suitable length', () => {
  for (const { path, html, description } of site.pages) {
    expect.soft(html.match(/<h1[\s>]/g), path).toHaveLength(1);
    const title = /<title>(.*?)<\/title>/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect.soft(title.length, `${path}: ${title}`).toBeGreaterThan(5);
    expect.soft(title.length, `${path}: ${title}`).toBeLessThanOrEqual(60);
    expect.soft(description.length, path).toBeGreaterThanOrEqual(50);
    expect.soft(description.length, path).toBeLessThanOrEqual(160);
  }
});

test("product pages have the product's header with a log-in link; all others have that of the business", () => {
  const header = ({ html }: SitePage) => /<header class="site-header">.*?<\/header>/s.exec(html)?.[0] ?? '';
  const ofProduct = site.pages.filter(({ path }) => /^\/(product|developers)(\/|$)/.test(path));
  expect(ofProduct.length).toBeGreaterThan(10);
  for (const page of site.pages) {
    const isOfProduct = ofProduct.includes(page);
    for (const link of ['/product', '/developers', '/dashboard/login'])
      expect.soft(header(page).includes(`href="${link}"`), `${page.path}: ${link}`).toBe(isOfProduct);
    for (const words of ['01632 960184', 'Emergency?', 'Fenwick'])
      expect.soft(header(page).includes(words), `${page.path}: ${words}`).toBe(!isOfProduct);
    expect
      .soft(page.html, page.path)
      .toContain(`property="og:site_name" content="${isOfProduct ? 'Signalpost' : 'Fenwick'}`);
  }
});

test('no two pages have the same title or the same description', () => {
  expect(new Set(site.pages.map(({ title }) => title)).size).toBe(site.pages.length);
  expect(new Set(site.pages.map(({ description }) => description)).size).toBe(site.pages.length);
});

test('every internal link leads to an existing page, and every anchor to an element', () => {
  const pages = new Map(site.pages.map((page) => [page.path, new Set(idsOf(page))]));
  const checked = { pages: 0, anchors: 0 };
  for (const page of site.pages) {
    for (const href of hrefsOf(page)) {
      const [path = '', anchor] = href.split('#');
      const target = path === '' ? page.path : path;
      const ids = pages.get(target);
      if (ids !== undefined) checked.pages++;
      else if (target.startsWith('/'))
        expect
          .soft(target, page.path)
          .toMatch(/\.(md|txt|xml|json)$|well-known|^\/v1\/|^\/dashboard\/login$/);
      if (anchor === undefined) continue;
      checked.anchors++;
      expect.soft(ids?.has(anchor), `${page.path}: ${href}`).toBe(true);
    }
  }
  expect(checked.pages).toBeGreaterThan(400);
  expect(checked.anchors).toBeGreaterThan(80);
});

test('IDs are unique on each page', () => {
  for (const page of site.pages) {
    const ids = idsOf(page);
    expect.soft(new Set(ids).size, page.path).toBe(ids.length);
  }
});

test('no page loads anything from other sites, or uses anything that its CSP forbids', () => {
  const assets = new Set([...site.assets, site.favicon].map(({ path }) => path));
  for (const { path, html } of site.pages) {
    const loaded = [
      ...html.matchAll(/<(?:img|script|iframe|source|video|audio)\b[^>]*\ssrc="([^"]+)"/g),
      ...html.matchAll(/<link rel="(?:stylesheet|icon|preload|manifest)"[^>]*href="([^"]+)"/g),
    ].map(([, address = '']) => address);
    for (const address of loaded) expect.soft(assets.has(address), `${path}: ${address}`).toBe(true);
    expect
      .soft(html, path)
      .not.toMatch(
        /\sstyle="|<style|\son[a-z]+="|<script(?! type="(?:application\/ld\+json"|module" src="))/,
      );
  }
  const css = site.assets
    .find(({ contentType }) => contentType.startsWith('text/css'))
    ?.body.toString('utf8');
  expect(css).toContain('--ground');
  expect(css).not.toMatch(/url\(|@import/);
});

test('structured data is valid JSON, and names the business and the page', () => {
  for (const { path, html } of site.pages) {
    const [, json = ''] = /<script type="application\/ld\+json">(.*?)<\/script>/s.exec(html) ?? [];
    const graph: { '@type': string; name?: string; url?: string }[] = JSON.parse(json)['@graph'];
    expect(graph.map((node) => node['@type'])).toEqual(expect.arrayContaining(['WebSite', 'Electrician']));
    expect(graph.map(({ url }) => url)).toContain(`${BASE_URL}${path}`);
  }
});

test('links in the markdown of pages are absolute', () => {
  for (const { path, markdown } of site.pages) {
    expect.soft(markdown, path).toMatch(/^# .+\n\n> For AI agents: .*\/llms\.txt\n/);
    const prose = markdown.replace(/^```.*?^```/gms, '').replace(/`[^`\n]+`/g, '');
    for (const [, target = ''] of prose.matchAll(/\]\(([^)\s]+)/g)) {
      expect.soft(target, path).toMatch(/^(https?:\/\/|mailto:|tel:)/);
    }
  }
});

describe('the type of every problem document', () => {
  test.each(ERROR_CODES)('%s resolves to its section of the list of errors', (code) => {
    const { body } = createProblems(BASE_URL).render({ code, detail: '' }, { requestId: 'req_x' });
    const type = new URL(JSON.parse(body).type);
    const page = site.pages.find(({ path }) => `${BASE_URL}${path}` === `${type.origin}${type.pathname}`);
    expect(page?.headings.find(({ id }) => `#${id}` === type.hash)?.text).toBe(code);
    expect(page?.html).toContain(`id="${type.hash.slice(1)}"`);
  });

  test('there is no section about an unknown code', () => {
    const page = site.pages.find(({ path }) => path === '/developers/errors');
    const codes = page?.headings.map(({ text }) => text).filter((text) => /^[A-Z_]+$/.test(text));
    expect(codes?.sort()).toEqual([...ERROR_CODES].sort());
  });
});
