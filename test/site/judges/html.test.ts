import { beforeAll, expect, test } from 'vitest';
import type { SiteContent } from '../../../src/site/content/site-content.ts';
import { htmlFaults } from '../../support/html-judge.ts';
import { loadStarterSite } from '../../support/starter-site.ts';

let site: SiteContent;
beforeAll(async () => {
  site = await loadStarterSite();
});

test('html-validate reports nothing in any page, including error pages', async () => {
  const link = { title: 'Somewhere', url: '/' };
  const documents = [
    ...site.pages.map(({ path, html }) => ({ path, html })),
    { path: '404', html: site.notFoundHtml({ path: '/<nope>', links: [link], nearest: [link] }) },
    { path: '406', html: site.errorHtml({ status: 406, title: 'Not Acceptable', detail: 'No & never.' }) },
  ];
  for (const { path, html } of documents) {
    expect.soft(await htmlFaults(html), path).toEqual([]);
  }
});
