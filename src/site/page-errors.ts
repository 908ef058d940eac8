import type { FastifyReply, FastifyRequest } from 'fastify';
import { editDistance } from '../http/faults.ts';
import { type Problem, type Problems, sendAsIs } from '../http/problems.ts';
import { pathOf } from '../http/request-path.ts';
import { OPENAPI_PATH } from '../model/public-api.ts';
import {
  DOCS_PATH,
  LLMS_PATH,
  markdownPath,
  pageUrl,
  SIGNAL_API_PATH,
  SITEMAP_MD_PATH,
  SITEMAP_XML_PATH,
  STATUS_PATH,
} from './addresses.ts';
import type { SiteContent, SitePage, TitledLink } from './content/site-content.ts';
import { MARKDOWN } from './documents/document.ts';
import { CONTENT_SECURITY_POLICY, type Negotiate, siteLinks } from './pages.ts';

const HTML = 'text/html; charset=utf-8';
/** Long enough to recognise the requested path. */
const MAX_SHOWN_PATH = 200;

interface PageErrorDeps {
  baseUrl: string;
  content: SiteContent;
  negotiate: Negotiate;
  problems: Problems;
}

/** The site's responses when it has no page to return. */
export interface PageErrors {
  /** 404 with suggested links: as markdown if it is requested, otherwise as a page. */
  notFound(request: FastifyRequest, reply: FastifyReply): FastifyReply;
  badAddress(request: FastifyRequest, reply: FastifyReply): FastifyReply;
  /** Expects `Allow` to be set. */
  methodNotAllowed(request: FastifyRequest, reply: FastifyReply): FastifyReply;
}

/** Page errors in the format the client accepts: HTML, markdown or a problem document. */
export function createPageErrors(deps: PageErrorDeps): PageErrors {
  const { baseUrl, content } = deps;
  const ways = waysOn(baseUrl);
  const link = siteLinks(baseUrl).join(', ');
  const setHeaders = (reply: FastifyReply) =>
    reply.headers({ vary: 'Accept', link, 'cache-control': 'no-store' });

  return {
    notFound(request, reply) {
      const path = pathOf(request.originalUrl).slice(0, MAX_SHOWN_PATH);
      const near = nearestPages(path, content.pages);
      setHeaders(reply).code(404);
      if (wantsMarkdown(request, deps.negotiate)) {
        const nearest = near.map(({ title, path }) => ({ title, url: `${baseUrl}${markdownPath(path)}` }));
        return sendAsIs(reply, MARKDOWN, recoveryDocument(path, nearest, ways));
      }
      const nearest = near.map(({ title, path }) => ({ title, url: pageUrl(baseUrl, path) }));
      reply.header('content-security-policy', CONTENT_SECURITY_POLICY);
      return sendAsIs(reply, HTML, content.notFoundHtml({ path, nearest, links: ways }));
    },
    badAddress(request, reply) {
      setHeaders(reply);
      return sendError(deps, request, reply, {
        code: 'INVALID_REQUEST',
        detail: /^(?:\/|https?:)/i.test(request.originalUrl)
          ? 'The address cannot be decoded: it contains a "%" that does not start a valid escape.'
          : 'The address does not begin with "/".',
        extra: { hint: `Start at ${baseUrl}/` },
      });
    },
    methodNotAllowed(request, reply) {
      setHeaders(reply);
      return sendError(deps, request, reply, {
        code: 'METHOD_NOT_ALLOWED',
        detail: `${request.method} is not served here; ${String(reply.getHeader('allow'))} are.`,
        extra: { hint: `Start at ${baseUrl}/` },
      });
    },
  };
}

/** A path that ends in `.md` requests markdown, unless the client explicitly prefers HTML. */
function wantsMarkdown(request: FastifyRequest, negotiate: Negotiate): boolean {
  const { type, named } = negotiate(request.headers.accept);
  if (named || type === null) return type === 'text/markdown';
  return type === 'text/markdown' || pathOf(request.originalUrl).endsWith('.md');
}

/** HTML or markdown as negotiated; a client that accepts neither is a program and gets a problem document. */
function sendError(
  { content, negotiate, problems }: PageErrorDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
): FastifyReply {
  const { type, named } = negotiate(request.headers.accept);
  if (!named || type === null) return problems.send(request, reply, problem);
  const { status, title } = problems.kindOf(problem.code);
  reply.code(status);
  if (type === 'text/markdown') {
    return sendAsIs(reply, MARKDOWN, `# ${title}\n\n${problem.detail}\n\n${problem.extra?.hint ?? ''}\n`);
  }
  reply.header('content-security-policy', CONTENT_SECURITY_POLICY);
  return sendAsIs(reply, HTML, content.errorHtml({ status, title, detail: problem.detail }));
}

function waysOn(baseUrl: string): TitledLink[] {
  return [
    { title: 'Sitemap', url: `${baseUrl}${SITEMAP_MD_PATH}` },
    { title: 'Sitemap (XML)', url: `${baseUrl}${SITEMAP_XML_PATH}` },
    { title: 'llms.txt, the index for agents', url: `${baseUrl}${LLMS_PATH}` },
    { title: 'Docs index, the developers portal', url: `${baseUrl}${DOCS_PATH}` },
    { title: 'API map: OpenAPI description', url: `${baseUrl}${OPENAPI_PATH}` },
    { title: 'API map: status and endpoints', url: `${baseUrl}${STATUS_PATH}` },
    { title: 'API map: signal API', url: `${baseUrl}${SIGNAL_API_PATH}` },
  ];
}

/** Short, and in the order in which an agent can use it: likely matches, then the indexes. */
function recoveryDocument(path: string, nearest: readonly TitledLink[], ways: readonly TitledLink[]): string {
  const list = (links: readonly TitledLink[]) => links.map(({ title, url }) => `- [${title}](${url})`);
  return [
    '# Page not found',
    '',
    // A backtick would end the code span; nothing else can, because a path contains no line break.
    `There is no page at \`${path.replaceAll('`', '%60')}\`.`,
    '',
    '## Nearest pages',
    '',
    ...list(nearest),
    '',
    '## Ways on',
    '',
    ...list(ways),
    '',
  ].join('\n');
}

const MOST = 3;
/**
 * Longer paths are compared by their beginning: the comparison takes time proportional to the product of the lengths.
 */
const MAX_COMPARED = 64;
/** If half the letters match, it is a typo; with fewer, it is another word. */
const NEAR_ENOUGH = 0.5;

/** The pages most similar to a mistyped path, nearest first; the home page if none is similar. */
function nearestPages(path: string, pages: readonly SitePage[]): SitePage[] {
  const asked = wordsOf(readable(path));
  const near = pages
    .map((page) => ({ page, likeness: likeness(asked, wordsOf(page.path)) }))
    .filter((candidate) => candidate.likeness >= NEAR_ENOUGH)
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, MOST)
    .map(({ page }) => page);
  return near.length > 0 ? near : pages.filter((page) => page.path === '/');
}

/** 1 for the same path, and slightly less for the same last segment under another parent. */
function likeness(asked: readonly string[], known: readonly string[]): number {
  if (known.length === 0) return 0;
  const whole = similarity(asked.join('/'), known.join('/'));
  const last = similarity(asked.at(-1) ?? '', known.at(-1) ?? '');
  return Math.max(whole, last * 0.95);
}

function similarity(a: string, b: string): number {
  const longer = Math.max(a.length, b.length);
  return longer === 0 ? 0 : 1 - editDistance(a, b) / longer;
}

function wordsOf(path: string): string[] {
  return path.split('/').filter((word) => word !== '');
}

function readable(path: string): string {
  const bare = path.slice(0, MAX_COMPARED).replace(/\.(md|html?|php)$/i, '');
  try {
    return decodeURIComponent(bare).toLowerCase();
  } catch {
    return bare.toLowerCase();
  }
}
