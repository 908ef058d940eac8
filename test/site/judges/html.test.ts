import { HtmlValidate } from 'html-validate';
import { beforeAll, expect, test } from 'vitest';
import type { SiteContent } from '../../../src/site/content/site-content.ts';
import { loadStarterSite } from '../../support/starter-site.ts';

let site: SiteContent;
beforeAll(async () => {
  site = await loadStarterSite();
});

const judge = new HtmlValidate({
  root: true,
  extends: [
    'html-validate:recommended',
    'html-validate:standard',
    'html-validate:a11y',
    'html-validate:document',
  ],
  rules: {
    // The stylesheet comes from the same server as the page that names it.
    'require-sri': ['error', { target: 'crossorigin' }],
    // The stylesheet keeps telephone numbers on one line.
    'tel-non-breaking': 'off',
    // A matter of style: both forms are HTML.
    'doctype-style': 'off',
    'no-trailing-whitespace': 'off',
  },
});

test('html-validate finds no fault in any page, nor in those that stand in for one', async () => {
  const link = { title: 'Somewhere', url: '/' };
  const documents = [
    ...site.pages.map(({ path, html }) => ({ path, html })),
    { path: '404', html: site.notFoundHtml({ path: '/<nope>', links: [link], nearest: [link] }) },
    { path: '406', html: site.errorHtml({ status: 406, title: 'Not Acceptable', detail: 'No & never.' }) },
  ];
  for (const { path, html } of documents) {
    const { results } = await judge.validateString(html);
    const faults = results.flatMap(({ messages }) =>
      messages.map(({ ruleId, message, line }) => `${path}:${line} ${ruleId}: ${message}`),
    );
    expect.soft(faults).toEqual([]);
  }
});
