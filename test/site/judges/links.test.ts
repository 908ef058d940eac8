import { LinkChecker } from 'linkinator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningSite, serveStarterSite } from '../../support/starter-site.ts';

let site: RunningSite;
beforeAll(async () => {
  site = await serveStarterSite();
});
afterAll(() => site.app.close());

test('linkinator finds no broken links on the whole running site, including anchors and styles', async () => {
  const { links } = await new LinkChecker().check({
    path: `${site.url}/`,
    recurse: true,
    checkFragments: true,
    checkCss: true,
    redirects: 'error',
    concurrency: 20,
    // Tests make no requests to other hosts.
    linksToSkip: async (link) => !link.startsWith(site.url),
  });
  const broken = links.filter(({ state }) => state === 'BROKEN');
  expect(broken.map(({ url, status, parent }) => `${url} (${status}) on ${parent}`)).toEqual([]);

  const visited = new Set(
    links.filter(({ state }) => state === 'OK').map(({ url }) => new URL(url).pathname),
  );
  for (const { path } of site.content.pages) expect.soft(visited, path).toContain(path);
  for (const { path } of site.content.assets) {
    if (!path.includes('share')) expect.soft(visited, path).toContain(path);
  }
}, 60_000);
