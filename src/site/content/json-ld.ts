import { toIso } from '../../lib/clock.ts';
import { pageUrl } from '../addresses.ts';
import type { SiteIdentity } from './identity.ts';
import type { PageFile } from './page-file.ts';

/** What a page's structured data is made of. */
export interface JsonLdInput {
  identity: SiteIdentity;
  baseUrl: string;
  page: Pick<PageFile, 'path' | 'front' | 'lastModified'>;
  /** From the home page down to this one. */
  trail: readonly { title: string; url: string }[];
  shareImageUrl: string | null;
}

/** A page's schema.org data as JSON that can stand inside a script element, which ends at any `</script`. */
export function jsonLd(input: JsonLdInput): string {
  const graph = [website(input), business(input), webPage(input), ...breadcrumbs(input)];
  const document = { '@context': 'https://schema.org', '@graph': graph };
  return JSON.stringify(document).replaceAll('<', '\\u003c');
}

function website({ identity, baseUrl }: JsonLdInput) {
  return {
    '@type': 'WebSite',
    '@id': `${baseUrl}/#website`,
    url: `${baseUrl}/`,
    name: identity.name,
    description: identity.description,
    inLanguage: identity.lang,
    publisher: { '@id': `${baseUrl}/#business` },
  };
}

function business({ identity, baseUrl, shareImageUrl }: JsonLdInput) {
  const { address } = identity;
  return {
    '@type': identity.businessType,
    '@id': `${baseUrl}/#business`,
    name: identity.name,
    description: identity.description,
    url: `${baseUrl}/`,
    email: identity.email,
    telephone: identity.phone,
    ...(identity.priceRange === undefined ? {} : { priceRange: identity.priceRange }),
    ...(shareImageUrl === null ? {} : { image: shareImageUrl }),
    address: {
      '@type': 'PostalAddress',
      streetAddress: address.street,
      addressLocality: address.town,
      addressRegion: address.region,
      postalCode: address.postcode,
      addressCountry: address.country,
    },
    areaServed: identity.areaServed.map((name) => ({ '@type': 'Place', name })),
    openingHoursSpecification: identity.openingHours.map(({ days, opens, closes }) => ({
      '@type': 'OpeningHoursSpecification',
      dayOfWeek: days,
      opens,
      closes,
    })),
  };
}

function webPage({ identity, baseUrl, page }: JsonLdInput) {
  const url = pageUrl(baseUrl, page.path);
  return {
    '@type': page.front.layout === 'reference' ? 'TechArticle' : 'WebPage',
    '@id': `${url}#page`,
    url,
    name: page.front.title,
    headline: page.front.title,
    description: page.front.description,
    inLanguage: identity.lang,
    dateModified: toIso(page.lastModified),
    isPartOf: { '@id': `${baseUrl}/#website` },
    about: { '@id': `${baseUrl}/#business` },
  };
}

function breadcrumbs({ baseUrl, page, trail }: JsonLdInput) {
  if (trail.length < 2) return [];
  return [
    {
      '@type': 'BreadcrumbList',
      '@id': `${pageUrl(baseUrl, page.path)}#trail`,
      itemListElement: trail.map(({ title, url }, index) => ({
        '@type': 'ListItem',
        position: index + 1,
        name: title,
        item: url,
      })),
    },
  ];
}
