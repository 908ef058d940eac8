import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import { readPalette } from '../../http/palette.ts';
import { accentStyles } from './accent.ts';
import { type Asset, hashed } from './assets.ts';
import type { SiteIdentity } from './identity.ts';
import type { Heading } from './markdown.ts';

/** In the order in which later rules win. */
const STYLES = [
  'tokens.css',
  'base.css',
  'frame.css',
  'footer.css',
  'prose.css',
  'landing.css',
  'reference.css',
  'code.css',
];

/** What every document's frame shows, whichever page it is around. */
export interface FrameView {
  identity: SiteIdentity;
  /** Whose header it has: that of the business, or that of Signalpost. */
  siteName: string;
  isOfProduct: boolean;
  /** Where the header's name leads. */
  home: string;
  /** The header's button. */
  action: { label: string; path: string } | null;
  locale: string;
  stylesheet: string;
  /** For the header; null where `site.json` names none. */
  icon: string | null;
  favicon: { path: string; contentType: string };
  shareImage: { url: string; width: number; height: number } | null;
  phoneLink: string;
  hours: { days: string; times: string }[];
  footerGroups: { id: string; name: string; links: { path: string; title: string }[] }[];
  smallPrint: { path: string; title: string }[];
  navigation: { path: string; label: string; current: 'page' | 'true' | null }[];
}

/** A page of the site inside its frame. */
export interface PageView extends FrameView {
  layout: 'landing' | 'article' | 'reference';
  documentTitle: string;
  title: string;
  description: string;
  section: string;
  url: string;
  markdownUrl: string;
  jsonLd: string;
  /** Address of the page's script; null where it needs none. */
  script: string | null;
  /** The rendered markdown. */
  content: string;
  toc: Heading[];
  trail: { path: string; title: string }[];
  siblings: { path: string; title: string; current: boolean }[];
  /** The pages before and after it in its section. */
  previous: { path: string; title: string } | null;
  next: { path: string; title: string } | null;
  /** `2026-11-20`. */
  updated: string;
}

/** What is shown where there is no page; not to be indexed. */
export interface MessageView extends FrameView {
  layout: 'message';
  documentTitle: string;
  title: string;
  description: string;
  url: null;
  script: null;
  jsonLd: null;
}

/** The documents that the site's templates make. */
export interface Templates {
  page(view: PageView): string;
  notFound(view: MessageView & { path: string; links: object[]; nearest: object[] }): string;
  error(view: MessageView & { status: number; detail: string }): string;
}

/** Compiles the templates; everything that they print is escaped unless a template says otherwise. */
export function createTemplates(): Templates {
  const views = fileURLToPath(new URL('./templates', import.meta.url));
  const eta = new Eta({ views, cache: true });
  return {
    page: (view) => eta.render(`./${view.layout}`, view),
    notFound: (view) => eta.render('./not-found', view),
    error: (view) => eta.render('./error', view),
  };
}

/** The one script, of pages with code. */
export async function readScript(): Promise<Asset> {
  const script = await readFile(new URL('./scripts/copy.js', import.meta.url));
  return hashed('/assets/copy.js', script, 'text/javascript; charset=utf-8');
}

/** The one stylesheet of all pages in the site's colour, under an address made of its bytes. */
export async function readStylesheet(accent: string): Promise<Asset> {
  const parts = await Promise.all([
    readPalette(),
    ...STYLES.map((name) => readFile(new URL(`./styles/${name}`, import.meta.url), 'utf8')),
  ]);
  return hashed(
    '/assets/site.css',
    Buffer.from([accentStyles(accent), ...parts].join('\n')),
    'text/css; charset=utf-8',
  );
}
