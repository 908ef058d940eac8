import { estimateTokenCount } from 'tokenx';
import { PUBLIC_OPERATIONS } from '../../model/public-api.ts';
import { API_CATALOG_PATH, LLMS_FULL_PATH, LLMS_PATH, markdownPath, pageUrl } from '../addresses.ts';
import { fixedDocument, type SiteDocument, TEXT } from './document.ts';
import { successExample } from './openapi-examples.ts';
import type { DocumentParts } from './parts.ts';
import { bySection, OPTIONAL_SECTION } from './sections.ts';

interface Entry {
  /** Null for what is called rather than read: it stands as code, so that no agent takes its answer for a page. */
  title: string | null;
  url: string;
  description: string;
  tokens: number;
}

/** `/llms.txt` (llmstxt.org): where an agent starts, with what each link costs to read. */
export function createLlms(parts: DocumentParts, others: LlmsOthers): SiteDocument {
  const { baseUrl, content, madeAt } = parts;
  const { name, description } = content.identity;
  const groups = bySection(content).map(({ section, pages }) => ({
    section,
    entries: pages.map((page) => ({ ...page, url: `${baseUrl}${markdownPath(page.path)}` })),
  }));
  const optional = groups.find(({ section }) => section === OPTIONAL_SECTION);
  const body = [
    `# ${name}`,
    `> ${description}`,
    INTRODUCTION,
    ...groups.filter((group) => group !== optional).map(({ section, entries }) => list(section, entries)),
    list('API', [
      ...operationEntries(baseUrl),
      ...others.api.map((item) => documentEntry(baseUrl, item, madeAt)),
    ]),
    list(OPTIONAL_SECTION, [
      ...(optional?.entries ?? []),
      ...others.optional.map((item) => documentEntry(baseUrl, item, madeAt)),
    ]),
  ];
  return fixedDocument({
    path: LLMS_PATH,
    title: 'llms.txt',
    description: 'The index for agents, with the length of each page.',
    contentType: TEXT,
    body: `${body.join('\n\n')}\n`,
    lastModified: madeAt,
  });
}

/** Documents that llms.txt lists beside pages and operations. */
export interface LlmsOthers {
  api: readonly SiteDocument[];
  optional: readonly SiteDocument[];
}

const INTRODUCTION = `Every page is markdown too: ask for \`Accept: text/markdown\`, or use its \`.md\` address as below. The numbers tell about how many tokens an answer has. The API is read only and needs no key; start with its status.`;

/** `/llms-full.txt`: every page's markdown in one file. */
export function createLlmsFull({ baseUrl, content, madeAt }: DocumentParts): SiteDocument {
  const { name, description } = content.identity;
  const pages = bySection(content).flatMap((group) => group.pages);
  const texts = pages.map((page) => `Source: ${pageUrl(baseUrl, page.path)}\n\n${page.markdown.trim()}`);
  return fixedDocument({
    path: LLMS_FULL_PATH,
    title: 'llms-full.txt',
    description: 'The text of all pages in one file.',
    contentType: TEXT,
    body: `${[`# ${name}\n\n> ${description}`, ...texts].join('\n\n---\n\n')}\n`,
    lastModified: madeAt,
  });
}

function operationEntries(baseUrl: string): Entry[] {
  return PUBLIC_OPERATIONS.map((operation) => ({
    title: null,
    url: `GET ${baseUrl}${operation.path}`,
    description: operation.description,
    tokens: estimateTokenCount(JSON.stringify(successExample(operation, baseUrl))),
  }));
}

function documentEntry(baseUrl: string, document: SiteDocument, now: number): Entry {
  const { path, title, description } = document;
  const tokens = estimateTokenCount(document.at(now).body.toString('utf8'));
  const isCalled = path === API_CATALOG_PATH;
  return { title: isCalled ? null : title, url: `${baseUrl}${path}`, description, tokens };
}

function list(section: string, entries: readonly Entry[]): string {
  const lines = entries.map(
    ({ title, url, description, tokens }) =>
      `- ${title === null ? `\`${url}\`` : `[${title}](${url})`}: ${description} (${tokens} tokens)`,
  );
  return `## ${section}\n\n${lines.join('\n')}`;
}
