import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PUBLIC_OPERATIONS } from '../../src/model/public-api.ts';
import { runInProcess } from '../cli/in-process.ts';
import { BASE_URL, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await buildTestApp();
});
afterAll(() => t.app.close());

const text = async (url: string) => (await t.app.inject(url)).body;
const json = async (url: string) => (await t.app.inject(url)).json();
const links = (document: string) =>
  [...document.matchAll(/\]\((https:[^)]+)\)/g)].map(([, url = '']) => url.slice(BASE_URL.length));

/** The paths of GET routes, from the server's own printed route tree. */
function routesOf(app: FastifyInstance): string[] {
  const paths: string[] = [];
  const stack: string[] = [];
  for (const line of app.printRoutes({ commonPrefix: false }).split('\n')) {
    const found = /^([│ ]*)[├└]── (\S*)(?: \(([^)]*)\))?/.exec(line);
    if (found === null) continue;
    const [, indent = '', part = '', methods = ''] = found;
    stack.length = indent.length / 4;
    stack.push(part);
    if (methods.split(', ').includes('GET')) paths.push(stack.join(''));
  }
  return paths;
}

/** Every document that lists operations, with its list. */
async function surfaces(): Promise<Record<string, string[]>> {
  const { data } = await json('/api/v1/status');
  const { paths } = await json('/openapi.json');
  const { linkset } = await json('/.well-known/api-catalog');
  const catalog = (linkset[0].item as { href: string }[]).map(({ href }) => href.slice(BASE_URL.length));
  const isOperation = (path: string) => path.startsWith('/api/');
  return {
    routes: routesOf(t.app).filter(isOperation),
    status: data.endpoints.map(({ path }: { path: string }) => path),
    // Only OpenAPI has the catch-all, which describes the response of every other path.
    openapi: Object.keys(paths).filter((path) => path !== '/api/{unknown}'),
    // As code, not as links: agents follow links to read pages.
    llms: [...(await text('/llms.txt')).matchAll(/`GET (\S+)`/g)]
      .map(([, url = '']) => url.slice(BASE_URL.length))
      .filter(isOperation),
    catalog: catalog.filter(isOperation),
    catalogEntries: linkset
      .map(({ anchor }: { anchor: string }) => anchor.slice(BASE_URL.length))
      .filter(isOperation),
  };
}

test('all documents list the same operations', async () => {
  const known = PUBLIC_OPERATIONS.map(({ path }) => path).sort();
  for (const [name, listed] of Object.entries(await surfaces())) {
    expect([name, listed.sort()]).toEqual([name, known]);
  }
});

test('each operation has its command', async () => {
  const { stdout } = await runInProcess(['--help']);
  for (const { command } of PUBLIC_OPERATIONS) expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
});

test('operations have the same names everywhere', async () => {
  const { data } = await json('/api/v1/status');
  const { paths } = await json('/openapi.json');
  const llms = await text('/llms.txt');
  for (const { path, operationId, summary, description } of PUBLIC_OPERATIONS) {
    expect(data.endpoints).toContainEqual({ method: 'GET', path, description });
    expect(paths[path].get).toMatchObject({ operationId, summary, description });
    expect(llms).toContain(`\`GET ${BASE_URL}${path}\`: ${summary}.`);
  }
});

test('every list of pages contains exactly the pages that are served', async () => {
  const pages = [
    '/',
    '/pricing',
    '/contact',
    '/developers',
    '/developers/errors',
    '/developers/versioning',
    '/imprint',
  ];
  const twins = pages.map((path) => (path === '/' ? '/index.md' : `${path}.md`));
  const isPage = (path: string) => pages.includes(path);
  const xml = [...(await text('/sitemap.xml')).matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, url = '']) =>
    url.slice(BASE_URL.length),
  );
  expect(xml.sort()).toEqual(pages.toSorted());
  expect(
    links(await text('/sitemap.md'))
      .filter(isPage)
      .sort(),
  ).toEqual(pages.toSorted());
  const llms = links(await text('/llms.txt')).filter(
    (path) => path.endsWith('.md') && path !== '/sitemap.md',
  );
  expect(llms.sort()).toEqual(twins.toSorted());
  const full = [...(await text('/llms-full.txt')).matchAll(/^Source: (\S+)$/gm)].map(([, url = '']) =>
    url.slice(BASE_URL.length),
  );
  expect(full.sort()).toEqual(pages.toSorted());
});

test.each(['/llms.txt', '/sitemap.md'])('every link in %s returns 200', async (document) => {
  const found = links(await text(document));
  expect(found.length).toBeGreaterThan(7);
  for (const path of found) expect([path, (await t.app.inject(path)).statusCode]).toEqual([path, 200]);
});
