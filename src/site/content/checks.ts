import { join } from 'node:path';
import { MCP_METADATA_PATH } from '../../model/mcp.ts';
import { OPENAPI_PATH, PUBLIC_OPERATIONS, TAG_NAMES } from '../../model/public-api.ts';
import {
  API_CATALOG_PATH,
  FAVICON_PATH,
  LLMS_FULL_PATH,
  LLMS_PATH,
  LOG_IN_PATH,
  MCP_CARD_PATHS,
  ROBOTS_PATH,
  SECURITY_PATH,
  SIGNAL_API_PATH,
  SIGNAL_OPENAPI_PATH,
  SIGNAL_OPERATIONS_PATH,
  SITEMAP_MD_PATH,
  SITEMAP_XML_PATH,
} from '../addresses.ts';
import type { NamedAsset } from './assets.ts';
import { type LocatedIdentity, operationsMarks } from './identity.ts';
import type { ContentFault, PageFile } from './page-file.ts';
import type { PageLink, ParsedMarkdown } from './templates.ts';

/** A page file with its parsed markdown. */
export interface ParsedPage extends PageFile {
  parsed: ParsedMarkdown;
}

/** Everything that links can point to. */
export interface SiteMap {
  pages: readonly ParsedPage[];
  assets: ReadonlyMap<string, NamedAsset>;
  /** Addresses of this server that are not pages, such as `/openapi.json`, and of pages that could not be read. */
  otherPaths: readonly string[];
}

/** Paths that this server serves in addition to pages, so that pages may link to them. */
export const OTHER_PATHS: readonly string[] = [
  ...PUBLIC_OPERATIONS.map(({ path }) => path),
  LOG_IN_PATH,
  OPENAPI_PATH,
  SIGNAL_API_PATH,
  SIGNAL_OPENAPI_PATH,
  SIGNAL_OPERATIONS_PATH,
  LLMS_PATH,
  LLMS_FULL_PATH,
  SITEMAP_XML_PATH,
  SITEMAP_MD_PATH,
  ROBOTS_PATH,
  API_CATALOG_PATH,
  MCP_METADATA_PATH,
  ...MCP_CARD_PATHS,
  SECURITY_PATH,
  FAVICON_PATH,
];

/** First path segments that belong to other faces of the server. */
const RESERVED = new Set(['api', 'v1', 'assets', 'dashboard']);
const PATH = /^\/([a-z0-9-]+(\/[a-z0-9-]+)*)?$/;
const EXTERNAL = /^(https?:|mailto:|tel:)/;

/** Every fault that concerns more than one file or field. */
export function checkSite(site: SiteMap, identity: LocatedIdentity, contentDir: string): ContentFault[] {
  const { pages } = site;
  const anchors = anchorsByPath(pages);
  const faults = pages.flatMap((page) => [
    ...addressFaults(page, pages),
    ...sectionFaults(page, identity),
    ...headingFaults(page),
    ...operationsFaults(page),
    ...page.parsed.links.flatMap((link) => {
      const detail = linkFault(link, page.path, { ...site, anchors });
      return detail === null ? [] : [{ file: page.file, line: link.line, detail }];
    }),
  ]);
  if (!pages.some(({ path }) => path === '/') && !site.otherPaths.includes('/')) {
    faults.push({ file: join(contentDir, 'index.md'), line: 1, detail: 'There is no home page; create it.' });
  }
  return [...faults, ...identityFaults(identity, { ...site, anchors })];
}

function anchorsByPath(pages: readonly ParsedPage[]): Map<string, Set<string>> {
  return new Map(pages.map(({ path, parsed }) => [path, new Set(parsed.headings.map(({ id }) => id))]));
}

function addressFaults(page: ParsedPage, pages: readonly ParsedPage[]): ContentFault[] {
  const { file, path } = page;
  const place = page.placeOf(['path']);
  const twin = pages.find((other) => other.path === path);
  if (twin !== page) return [{ file, ...place, detail: `${twin?.file} has the address ${path} already.` }];
  if (!PATH.test(path)) {
    const detail = `The address ${path} is not lower case words joined by hyphens; rename the file.`;
    return [{ file, ...place, detail }];
  }
  if (!RESERVED.has(path.split('/')[1] ?? '')) return [];
  return [{ file, ...place, detail: `The address ${path} is reserved by the server; choose another.` }];
}

function sectionFaults({ file, front, placeOf }: ParsedPage, { identity }: LocatedIdentity): ContentFault[] {
  if (identity.sections.includes(front.section)) return [];
  const detail = `section: site.json has no section "${front.section}"; known are ${identity.sections.join(', ')}.`;
  return [{ file, ...placeOf(['section']), detail }];
}

function headingFaults({ file, bodyLine, parsed: { headings, tokens } }: ParsedPage): ContentFault[] {
  const [first, ...rest] = headings;
  if (first === undefined || tokens[0]?.tag !== 'h1') {
    const detail = 'The page must begin with its only first-level heading, "# …".';
    return [{ file, line: bodyLine, detail }];
  }
  let level = 1;
  return rest.flatMap((heading) => {
    const before = level;
    level = heading.level;
    if (heading.level === 1) {
      const detail = 'A page can have only one first-level heading; use "##" for this one.';
      return [{ file, line: heading.line, detail }];
    }
    if (heading.level <= before + 1) return [];
    return [
      {
        file,
        line: heading.line,
        detail: `A heading of level ${heading.level} cannot follow level ${before}.`,
      },
    ];
  });
}

function operationsFaults({ file, body, bodyLine }: ParsedPage): ContentFault[] {
  const known: readonly string[] = TAG_NAMES;
  return operationsMarks(body).flatMap(({ text, tags, linesAbove }, at) => {
    const line = bodyLine + linesAbove;
    if (at > 0)
      return [
        { file, line, detail: `A page can have only one mark "{{operations: …}}"; list all tags in it.` },
      ];
    return tags
      .filter((tag) => !known.includes(tag))
      .map((tag) => ({
        ...{ file, line },
        detail: `${text}: the signal API has no tag "${tag}"; known are ${known.join(', ')}.`,
      }));
  });
}

type Targets = SiteMap & { anchors: ReadonlyMap<string, ReadonlySet<string>> };

function linkFault({ href, kind }: PageLink, from: string, targets: Targets): string | null {
  if (kind === 'image') {
    if (targets.assets.get(href)?.size != null) return null;
    return `There is no image "${href}"; put it into assets/ and write its path as "/assets/…".`;
  }
  if (EXTERNAL.test(href)) return null;
  const [path = '', anchor] = href.split('#');
  if (path !== '' && !path.startsWith('/')) {
    return `The link "${href}" must begin with "/", "#", "https:", "mailto:" or "tel:".`;
  }
  const target = path === '' ? from : path;
  const known = targets.anchors.get(target);
  if (known !== undefined) {
    if (anchor === undefined || known.has(anchor)) return null;
    return `The page ${target} has no heading with the anchor "#${anchor}".`;
  }
  return isServed(target, targets) ? null : `The link "${href}" leads to no page of this site.`;
}

function isServed(path: string, { assets, otherPaths, anchors }: Targets): boolean {
  const page = path === '/index.md' ? '/' : path.replace(/\.md$/, '');
  return assets.has(path) || otherPaths.includes(path) || (path.endsWith('.md') && anchors.has(page));
}

function identityFaults({ file, identity, placeOf }: LocatedIdentity, targets: Targets): ContentFault[] {
  const links = identity.navigation.map(({ path }, index) => ({ path, at: ['navigation', index, 'path'] }));
  if (identity.action !== undefined) links.push({ path: identity.action.path, at: ['action', 'path'] });
  const faults = links.flatMap(({ path, at }) => {
    const detail = linkFault({ href: path, kind: 'link', line: 0 }, '/', targets);
    return detail === null ? [] : [{ file, ...placeOf(at), detail }];
  });
  for (const field of ['icon', 'shareImage'] as const) {
    const name = identity[field];
    if (name === undefined || targets.assets.get(`/assets/${name}`)?.size != null) continue;
    faults.push({ file, ...placeOf([field]), detail: `${field}: there is no image assets/${name}.` });
  }
  return faults;
}
