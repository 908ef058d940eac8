import { toIso } from '../../lib/clock.ts';
import { DOCS_PATH, LOG_IN_PATH, markdownPath, PRODUCT_PATH, pageUrl } from '../addresses.ts';
import type { Asset, NamedAsset } from './assets.ts';
import type { ParsedPage } from './checks.ts';
import { phoneLink, type SiteIdentity } from './identity.ts';
import type { PageFile } from './page-file.ts';
import type { FrameView, Heading, MessageView, PageView } from './templates.ts';

/** Shorter pages get no table of contents: it would take longer to read than to scroll. */
const LONG_PAGE_TOKENS = 700;
const LONG_PAGE_HEADINGS = 4;
/** Search results truncate longer titles. */
const MAX_TITLE = 60;

/** The name in the header of pages about Signalpost itself, where that of the business would be misleading. */
const PRODUCT_NAME = 'Signalpost';
const PRODUCT_NAVIGATION = [
  { label: 'Product', path: PRODUCT_PATH },
  { label: 'Developers', path: DOCS_PATH },
];
const PRODUCT_ACTION = { label: 'Log in', path: LOG_IN_PATH };

/** The section that agents may skip holds the small print of the site. */
const OPTIONAL_SECTION = 'Optional';

/** The data that all views are built from. */
interface ViewDeps {
  identity: SiteIdentity;
  baseUrl: string;
  /** In list order. */
  pages: readonly ParsedPage[];
  assets: ReadonlyMap<string, NamedAsset>;
  stylesheet: Asset;
  script: Asset;
  favicon: Asset;
}

/** The page-specific parts of a view. */
interface RenderedPage {
  page: ParsedPage;
  content: string;
  headings: readonly Heading[];
  tokens: number;
}

/** Builds the data for the templates. */
interface Views {
  page(rendered: RenderedPage): PageView;
  message(title: string): MessageView;
}

/** Computes once what all documents share. */
export function createViews(deps: ViewDeps): Views {
  const { identity, baseUrl, pages } = deps;
  const frame = createFrame(deps);
  const productFrame = ofProduct(frame, pages);
  const titled = (title: string, { siteName }: FrameView) => {
    const whole = `${title} – ${siteName}`;
    return whole.length <= MAX_TITLE ? whole : title;
  };

  return {
    page({ page, content, headings, tokens }) {
      const { title, description, section, layout } = page.front;
      const trail = trailOf(page, pages);
      const group = pages.filter(({ front }) => front.section === section);
      const place = group.findIndex(({ path }) => path === page.path);
      const around = isOfProduct(page.path) ? productFrame : frame;
      const isLong = tokens >= LONG_PAGE_TOKENS && headings.length >= LONG_PAGE_HEADINGS;
      return {
        ...around,
        layout,
        documentTitle: titled(title, around),
        title,
        description,
        section,
        url: pageUrl(baseUrl, page.path),
        markdownUrl: `${baseUrl}${markdownPath(page.path)}`,
        jsonLd: jsonLd({
          identity,
          baseUrl,
          page,
          trail: trail.map((step) => ({ title: step.title, url: pageUrl(baseUrl, step.path) })),
          shareImageUrl: frame.shareImage?.url ?? null,
        }),
        script: layout === 'reference' ? deps.script.path : null,
        content,
        toc: isLong ? headings.filter(({ level }) => level === 2 || level === 3) : [],
        trail,
        siblings: group.map((other) => ({ ...linkTo(other), current: other.path === page.path })),
        previous: linkOrNull(group[place - 1]),
        next: linkOrNull(group[place + 1]),
        updated: toIso(page.lastModified).slice(0, 10),
        navigation: around.navigation.map((link) => ({ ...link, current: currentOf(link.path, page.path) })),
      };
    },
    message: (title) => ({
      ...frame,
      layout: 'message',
      documentTitle: titled(title, frame),
      title,
      description: identity.description,
      url: null,
      script: null,
      jsonLd: null,
    }),
  };
}

function createFrame({ identity, baseUrl, pages, assets, stylesheet, favicon }: ViewDeps): FrameView {
  const share = assets.get(`/assets/${identity.shareImage}`);
  return {
    identity,
    siteName: identity.name,
    isOfProduct: false,
    home: '/',
    action: identity.action ?? null,
    locale: identity.lang.replace('-', '_'),
    stylesheet: stylesheet.path,
    icon: assets.get(`/assets/${identity.icon}`)?.path ?? null,
    favicon,
    shareImage: share?.size == null ? null : { url: `${baseUrl}${share.path}`, ...share.size },
    phoneLink: phoneLink(identity.phone),
    hours: openingHours(identity.openingHours),
    footerGroups: identity.sections
      .filter((name) => name !== OPTIONAL_SECTION)
      .map((name, index) => ({
        id: String(index),
        name,
        links: pages.filter(({ front }) => front.section === name).map(linkTo),
      }))
      .filter(({ links }) => links.length > 0),
    smallPrint: pages.filter(({ front }) => front.section === OPTIONAL_SECTION).map(linkTo),
    navigation: identity.navigation.map((link) => ({ ...link, current: null })),
  };
}

/** `frame` with the header of Signalpost, with links to those of its pages that exist. */
function ofProduct(frame: FrameView, pages: readonly ParsedPage[]): FrameView {
  const navigation = PRODUCT_NAVIGATION.filter((link) => pages.some(({ path }) => path === link.path));
  return {
    ...frame,
    siteName: PRODUCT_NAME,
    isOfProduct: true,
    home: navigation[0]?.path ?? '/',
    action: PRODUCT_ACTION,
    // The image shows the business.
    shareImage: null,
    navigation: navigation.map((link) => ({ ...link, current: null })),
  };
}

function isOfProduct(path: string): boolean {
  return path === PRODUCT_PATH || currentOf(DOCS_PATH, path) !== null;
}

/** A page's name in lists: the short one if it has one. */
function linkTo({ path, front }: ParsedPage): { path: string; title: string } {
  return { path, title: front.label ?? front.title };
}

function linkOrNull(page: ParsedPage | undefined): { path: string; title: string } | null {
  return page === undefined ? null : linkTo(page);
}

/** The existing ancestors of a page, from the home page down to itself. */
function trailOf(page: ParsedPage, pages: readonly ParsedPage[]): { path: string; title: string }[] {
  const steps = page.path.split('/').filter((step) => step !== '');
  const paths = ['/', ...steps.map((_step, index) => `/${steps.slice(0, index + 1).join('/')}`)];
  return paths.flatMap((path) => pages.filter((other) => other.path === path).map(linkTo));
}

function currentOf(link: string, path: string): 'page' | 'true' | null {
  if (link === path) return 'page';
  return path.startsWith(`${link}/`) ? 'true' : null;
}

const WEEK: readonly string[] = [
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
  'Sunday',
];

/** Opening hours in readable form: `Monday to Friday`, `07:30–18:00`. */
function openingHours(hours: SiteIdentity['openingHours']): { days: string; times: string }[] {
  return hours.map(({ days, opens, closes }) => ({ days: describeDays(days), times: `${opens}–${closes}` }));
}

/** Three or more consecutive days are written as the first and the last. */
function describeDays(days: readonly string[]): string {
  const places = days.map((day) => WEEK.indexOf(day)).sort((a, b) => a - b);
  const names = places.map((place) => WEEK[place]);
  const isRun = places.every((place, index) => place === (places[0] ?? 0) + index);
  return isRun && names.length > 2 ? `${names[0]} to ${names.at(-1)}` : names.join(', ');
}

/** The input of a page's structured data. */
export interface JsonLdInput {
  identity: SiteIdentity;
  baseUrl: string;
  page: Pick<PageFile, 'path' | 'front' | 'lastModified'>;
  /** From the home page down to this page. */
  trail: readonly { title: string; url: string }[];
  shareImageUrl: string | null;
}

/** A page's schema.org data as JSON that is safe inside a script element, which ends at any `</script`. */
function jsonLd(input: JsonLdInput): string {
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
