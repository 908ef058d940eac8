import type { SiteContent, SitePage } from '../../src/site/content/site-content.ts';

/** When the pages of the test site were last modified. */
export const PAGES_CHANGED_AT = Date.UTC(2025, 10, 5, 12);

/** A small site with fixed text that is not rendered: how the server handles pages does not depend on their text. */
export function aSite(overrides: Partial<SiteContent> = {}): SiteContent {
  return {
    identity: {
      name: 'Brook Electrical',
      description: 'Electricians in Brookford: rewires, boards and chargers.',
      lang: 'en-GB',
      email: 'hello@brook.example',
      phone: '01632 960001',
      address: {
        street: '1 Mill Lane',
        town: 'Brookford',
        region: 'Kent',
        postcode: 'TN1 1AA',
        country: 'GB',
      },
      businessType: 'Electrician',
      accent: '#9a4708',
      areaServed: [],
      openingHours: [],
      navigation: [{ label: 'Pricing', path: '/pricing' }],
      sections: ['Pages', 'Developers', 'Optional'],
      contentSignals: { search: true, aiInput: true, aiTrain: false },
    },
    pages: [
      aPage('/', 'Home', 'Pages'),
      aPage('/pricing', 'Pricing', 'Pages'),
      aPage('/contact', 'Contact', 'Pages'),
      aPage('/developers', 'Developers', 'Developers'),
      aPage('/developers/errors', 'Errors', 'Developers'),
      aPage('/developers/versioning', 'Versioning', 'Developers'),
      aPage('/imprint', 'Imprint', 'Optional'),
    ],
    notFoundHtml: ({ path, links, nearest }) =>
      `<!doctype html><title>Not found</title><p>${path.replaceAll('<', '&lt;')}</p>${[...nearest, ...links]
        .map(({ title, url }) => `<a href="${url}">${title}</a>`)
        .join('')}`,
    errorHtml: ({ status, title, detail }) =>
      `<!doctype html><title>${title}</title><h1>${status}</h1><p>${detail.replaceAll('<', '&lt;')}</p>`,
    favicon: { path: '/favicon.ico', contentType: 'image/svg+xml', body: Buffer.from('<svg/>') },
    assets: [
      {
        path: '/assets/site.0123456789.css',
        contentType: 'text/css; charset=utf-8',
        body: Buffer.from('p{}'),
      },
    ],
    ...overrides,
  };
}

/** A page whose text identifies it. */
export function aPage(path: string, title: string, section: string): SitePage {
  const description = `What the page ${title} is about.`;
  return {
    path,
    title,
    description,
    section,
    markdown: `# ${title}\n\n${description}\n`,
    html: `<!doctype html><html lang="en-GB"><title>${title}</title><h1>${title}</h1><p>${description}</p></html>`,
    tokens: 12,
    lastModified: PAGES_CHANGED_AT,
    headings: [{ id: title.toLowerCase(), text: title, level: 1 }],
  };
}
