import type { FastifyInstance } from 'fastify';
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
import { MARKDOWN } from './documents/document.ts';
import type { Negotiate } from './negotiation.ts';
import { once } from './once.ts';

/**
 * What pages may load: pictures, the stylesheet and the script of this server, and nothing else. They have no inline
 * script or style, and send no form; their structured data is a data block, which no policy runs or stops.
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

/** `Link` to what describes the whole site (RFC 8288; relations of RFC 8631, RFC 9727). */
export function siteLinks(baseUrl: string): string[] {
  return [
    `<${baseUrl}${LLMS_PATH}>; rel="describedby"; type="text/plain"`,
    `<${baseUrl}${OPENAPI_PATH}>; rel="service-desc"; type="application/json"`,
    `<${baseUrl}${SIGNAL_OPENAPI_PATH}>; rel="service-desc"; type="application/json"`,
    `<${baseUrl}${SIGNAL_API_PATH}>; rel="service-meta"; type="application/json"`,
    `<${baseUrl}${API_CATALOG_PATH}>; rel="api-catalog"`,
  ];
}

/** The same and the page's own: its address for all, and its markdown. */
function pageLinks(baseUrl: string, path: string): string {
  return [
    `<${pageUrl(baseUrl, path)}>; rel="canonical"`,
    `<${baseUrl}${markdownPath(path)}>; rel="alternate"; type="text/markdown"`,
    ...siteLinks(baseUrl),
  ].join(', ');
}

interface PageParts {
  baseUrl: string;
  content: SiteContent;
  negotiate: Negotiate;
  problems: Problems;
  /** The pages with what they get from the signal API's description. */
  completePages(): readonly SitePage[];
}

/** A page's two representations, and the one that its markdown address always gives. */
interface PageAnswers {
  html: Representation;
  markdown: Representation;
  twin: Representation;
}

/** Routes of every page: its address, which negotiates, and the fixed one of its markdown. */
export function addPages(app: FastifyInstance, parts: PageParts): void {
  for (const page of parts.content.pages) addPage(app, page, parts);
}

/** Routes of the files that pages need. Their addresses change with their bytes, but for the one that browsers know. */
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

function addPage(app: FastifyInstance, page: SitePage, parts: PageParts): void {
  const { baseUrl, negotiate, problems } = parts;
  const answers = answersAtStart(page, parts);
  const available = [
    { type: 'text/html', url: `${baseUrl}${page.path}` },
    { type: 'text/markdown', url: `${baseUrl}${markdownPath(page.path)}` },
  ];
  app.get(page.path, (request, reply) => {
    const { type } = negotiate(request.headers.accept);
    if (type === 'text/html') {
      sendRepresentation(request, reply, answers().html);
    } else if (type === 'text/markdown') {
      sendRepresentation(request, reply, answers().markdown);
    } else {
      reply.headers({ vary: 'Accept', link: pageLinks(baseUrl, page.path), 'cache-control': 'no-store' });
      problems.send(request, reply, {
        code: 'NOT_ACCEPTABLE',
        detail: 'The page is there as text/html and as text/markdown, and Accept allows neither.',
        extra: {
          hint: `Ask for text/markdown, or get ${available[1]?.url}, which is always markdown.`,
          members: { available },
        },
      });
    }
  });
  app.get(markdownPath(page.path), (request, reply) => {
    sendRepresentation(request, reply, answers().twin);
  });
}

/** Made now, but for a page that is completed by what is made when it is first asked for. */
function answersAtStart(page: SitePage, { baseUrl, completePages }: PageParts): () => PageAnswers {
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
    // RFC 9110, section 8.7: the address that always gives what was chosen here.
    markdown: answer(page.markdown, MARKDOWN, { 'content-location': markdownPath(page.path) }),
    twin: answer(page.markdown, MARKDOWN, {}),
  };
}
