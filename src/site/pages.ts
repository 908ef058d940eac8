import type { FastifyInstance } from 'fastify';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import { hasTooManyParts } from '../http/compression.ts';
import type { Problems } from '../http/problems.ts';
import {
  CACHE_BRIEFLY,
  CACHE_FOR_EVER,
  type Representation,
  represent,
  sendRepresentation,
} from '../http/representation.ts';
import { OPENAPI_PATH } from '../model/public-api.ts';
import {
  API_CATALOG_PATH,
  LLMS_PATH,
  markdownPath,
  pageUrl,
  SIGNAL_API_PATH,
  SIGNAL_OPENAPI_PATH,
} from './addresses.ts';
import type { SiteContent, SitePage } from './content/site-content.ts';
import { MARKDOWN, once } from './documents/document.ts';

/**
 * What pages may load: images, the stylesheet and the script of this server, and nothing else. They have no inline
 * script or style, and submit no forms; their structured data is a data block, which no policy affects.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "img-src 'self'",
  "script-src 'self'",
  "style-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** `Link` headers to the descriptions of the whole site (RFC 8288; relations of RFC 8631, RFC 9727). */
export function siteLinks(baseUrl: string): string[] {
  return [
    `<${baseUrl}${LLMS_PATH}>; rel="describedby"; type="text/plain"`,
    `<${baseUrl}${OPENAPI_PATH}>; rel="service-desc"; type="application/json"`,
    `<${baseUrl}${SIGNAL_OPENAPI_PATH}>; rel="service-desc"; type="application/json"`,
    `<${baseUrl}${SIGNAL_API_PATH}>; rel="service-meta"; type="application/json"`,
    `<${baseUrl}${API_CATALOG_PATH}>; rel="api-catalog"`,
  ];
}

/** The same, with the page's canonical address and its markdown. */
function pageLinks(baseUrl: string, path: string): string {
  return [
    `<${pageUrl(baseUrl, path)}>; rel="canonical"`,
    `<${baseUrl}${markdownPath(path)}>; rel="alternate"; type="text/markdown"`,
    ...siteLinks(baseUrl),
  ].join(', ');
}

interface PageDeps {
  baseUrl: string;
  content: SiteContent;
  negotiate: Negotiate;
  problems: Problems;
  /** The pages, completed with the description of the signal API. */
  completePages(): readonly SitePage[];
  /** Generates what the pages above need, before they are first used. */
  prepare(): Promise<void>;
}

/** A page's two negotiated representations, and the fixed one of its markdown address. */
interface PageAnswers {
  html: Representation;
  markdown: Representation;
  twin: Representation;
}

/** Routes of every page: its address, which negotiates, and the fixed address of its markdown. */
export function addPages(app: FastifyInstance, deps: PageDeps): void {
  for (const page of deps.content.pages) addPage(app, page, deps);
}

/** Routes of the files that pages use. Their addresses contain a hash of their bytes, except for the favicon. */
export function addAssets(
  app: FastifyInstance,
  { content, madeAt }: { content: SiteContent; madeAt: number },
): void {
  for (const { path, contentType, body } of [...content.assets, content.favicon]) {
    const cacheControl = path === content.favicon.path ? CACHE_BRIEFLY : CACHE_FOR_EVER;
    const asset = represent({ body, contentType, cacheControl, lastModified: madeAt });
    app.get(path, (request, reply) => {
      sendRepresentation(request, reply, asset);
    });
  }
}

function addPage(app: FastifyInstance, page: SitePage, deps: PageDeps): void {
  const { baseUrl, negotiate, problems, prepare } = deps;
  const answers = answersAtStart(page, deps);
  const available = [
    { type: 'text/html', url: `${baseUrl}${page.path}` },
    { type: 'text/markdown', url: `${baseUrl}${markdownPath(page.path)}` },
  ];
  const options = page.complete === undefined ? {} : { preHandler: prepare };
  app.get(page.path, options, (request, reply) => {
    const { type } = negotiate(request.headers.accept);
    if (type === 'text/html') {
      sendRepresentation(request, reply, answers().html);
    } else if (type === 'text/markdown') {
      sendRepresentation(request, reply, answers().markdown);
    } else {
      reply.headers({ vary: 'Accept', link: pageLinks(baseUrl, page.path), 'cache-control': 'no-store' });
      problems.send(request, reply, {
        code: 'NOT_ACCEPTABLE',
        detail: 'The page is available as text/html and text/markdown, and Accept allows neither.',
        extra: {
          hint: `Accept text/markdown, or request ${available[1]?.url}, which is always markdown.`,
          members: { available },
        },
      });
    }
  });
  app.get(markdownPath(page.path), options, (request, reply) => {
    sendRepresentation(request, reply, answers().twin);
  });
}

/** Built at startup, except for pages that need a description that is generated on first request. */
function answersAtStart(page: SitePage, { baseUrl, completePages }: PageDeps): () => PageAnswers {
  const whole = () => completePages().find(({ path }) => path === page.path) ?? page;
  const answers = once(() => answersOf(page.complete === undefined ? page : whole(), baseUrl));
  if (page.complete === undefined) answers();
  return answers;
}

function answersOf(page: SitePage, baseUrl: string): PageAnswers {
  const common = {
    vary: 'Accept',
    link: pageLinks(baseUrl, page.path),
    'x-markdown-tokens': String(page.tokens),
  };
  const answer = (body: string, contentType: string, own: Record<string, string>) =>
    represent({
      body,
      contentType,
      cacheControl: CACHE_BRIEFLY,
      lastModified: page.lastModified,
      headers: { ...common, ...own },
    });
  return {
    html: answer(page.html, 'text/html; charset=utf-8', {
      'content-security-policy': CONTENT_SECURITY_POLICY,
    }),
    // RFC 9110, section 8.7: the address that always returns the representation chosen here.
    markdown: answer(page.markdown, MARKDOWN, { 'content-location': markdownPath(page.path) }),
    twin: answer(page.markdown, MARKDOWN, {}),
  };
}

/** The two representations of a page; the first is sent if the client has no preference. */
const PAGE_TYPES = ['text/html', 'text/markdown'] as const;
export type PageType = (typeof PAGE_TYPES)[number];

/** The result of an `Accept` header for a page. */
export interface Preference {
  /** The representation to send; null if the client accepts neither. */
  type: PageType | null;
  /** The client named a representation explicitly, not by a wildcard or by omitting the header. */
  named: boolean;
}

/** Parses `Accept` headers, with a cache. */
export type Negotiate = (accept: string | undefined) => Preference;

const MAX_KEPT = 500;
const MAX_KEPT_LENGTH = 300;
const UNSTATED: Preference = { type: 'text/html', named: false };

/** Clients send a few dozen different headers: parsing one took as long as the rest of the response. */
export function createNegotiation(): Negotiate {
  const kept = new LRUCache<string, Preference>({ max: MAX_KEPT });
  return (accept) => {
    if (accept === undefined) return UNSTATED;
    const known = kept.get(accept);
    if (known !== undefined) return known;
    const preference = hasTooManyParts(accept) ? UNSTATED : negotiate(accept);
    if (accept.length <= MAX_KEPT_LENGTH) kept.set(accept, preference);
    return preference;
  };
}

/** The highest q wins; on equal q, explicitly named types win over wildcards, in the order of the header. */
function negotiate(accept: string): Preference {
  const ranges = mediaRanges(accept);
  if (ranges.length === 0) return UNSTATED;
  const header = ranges.map(({ type, q }) => `${type};q=${q}`).join(', ');
  const [best] = new Negotiator({ headers: { accept: header } }).mediaTypes([...PAGE_TYPES]);
  const type = PAGE_TYPES.find((candidate) => candidate === best) ?? null;
  return { type, named: ranges.some((range) => range.type === type) };
}

/**
 * The media ranges of a header, in lower case and without parameters: Negotiator treats parameters as part of the
 * type, so that `text/markdown;charset=utf-8` would match nothing. Invalid media ranges are skipped.
 */
function mediaRanges(accept: string): { type: string; q: number }[] {
  return splitOutsideQuotes(accept, ',').flatMap((item) => {
    const [type = '', ...parameters] = splitOutsideQuotes(item, ';').map((part) => part.trim().toLowerCase());
    if (!/^[^\s/]+\/[^\s/]+$/.test(type)) return [];
    const weight = parameters.find((parameter) => /^q\s*=/.test(parameter));
    return [{ type, q: weight === undefined ? 1 : weightOf(weight) }];
  });
}

/** RFC 9110, section 12.4.2: 0 to 1. An invalid weight is ignored. */
function weightOf(parameter: string): number {
  const q = Number(parameter.replace(/^q\s*=\s*/, ''));
  return Number.isNaN(q) ? 1 : Math.min(1, Math.max(0, q));
}

function splitOutsideQuotes(text: string, separator: string): string[] {
  if (!text.includes('"')) return text.split(separator);
  const parts = [''];
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (char === separator && !quoted) {
      parts.push('');
      continue;
    }
    if (char === '"') quoted = !quoted;
    parts[parts.length - 1] += char;
    if (char === '\\' && quoted) parts[parts.length - 1] += text.charAt(++i);
  }
  return parts;
}
