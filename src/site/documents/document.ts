import { estimateTokenCount } from 'tokenx';
import type { DescribedApi, Document, OperationObject } from '../../http/openapi/schemas.ts';
import { CACHE_BRIEFLY, type Representation, represent } from '../../http/representation.ts';
import { excerpt } from '../../lib/text.ts';
import { MCP_PATH } from '../../model/mcp.ts';
import { PUBLIC_OPERATIONS } from '../../model/public-api.ts';
import {
  AGENTS_PATH,
  API_CATALOG_PATH,
  LLMS_FULL_PATH,
  LLMS_PATH,
  markdownPath,
  pageUrl,
  SIGNAL_API_PATH,
  SIGNAL_OPENAPI_PATH,
  SIGNAL_OPERATIONS_PATH,
} from '../addresses.ts';
import type { SiteContent, SitePage } from '../content/site-content.ts';

/** Dependencies of the documents. */
export interface DocumentDeps {
  /** Without a trailing slash. */
  baseUrl: string;
  content: SiteContent;
  publicApi(): Document;
  signalApi: DescribedApi;
  /** Issuers of access tokens for MCP. */
  authorizationServers: readonly string[];
  /** The pages, completed with the description of the signal API; generates it if necessary. */
  completePages(): readonly SitePage[];
  /** When the server generated them, Unix milliseconds: a new release can change them even if no page was edited. */
  madeAt: number;
}

/** A document at a fixed address, for programs: an index, a map, a description. */
export interface SiteDocument {
  path: string;
  title: string;
  description: string;
  /** Whether it is generated on first request. */
  isLate: boolean;
  /** Parts of its generation that can run before the first call of `at`, each in its own turn of the event loop. */
  steps: readonly (() => void)[];
  /** The response at `now` (Unix milliseconds); the same object until its content has to change. */
  at(now: number): Representation;
}

interface FixedDocumentInput {
  path: string;
  title: string;
  description: string;
  contentType: string;
  body: string;
  /** Unix milliseconds. */
  lastModified: number;
  headers?: Record<string, string>;
}

export const TEXT = 'text/plain; charset=utf-8';
export const MARKDOWN = 'text/markdown; charset=utf-8';

/** A document that is generated on first request. */
export function lateDocument(
  about: Pick<FixedDocumentInput, 'path' | 'title' | 'description'>,
  make: () => Omit<FixedDocumentInput, 'path' | 'title' | 'description'>,
  steps: SiteDocument['steps'] = [],
): SiteDocument {
  const made = once(() => fixedDocument({ ...about, ...make() }));
  return { ...about, isLate: true, steps, at: (now) => made().at(now) };
}

/** A document that does not change after startup. */
export function fixedDocument({ path, title, description, ...answer }: FixedDocumentInput): SiteDocument {
  const representation = represent({ ...answer, cacheControl: CACHE_BRIEFLY });
  return { path, title, description, isLate: false, steps: [], at: () => representation };
}

/** A heading and the pages under it. */
interface Section {
  section: string;
  pages: SitePage[];
}

/** The section that agents may skip when short of context (llmstxt.org); it comes last. */
const OPTIONAL_SECTION = 'Optional';

/** The pages by heading, in the order of the identity; headings without pages are omitted. */
export function bySection({
  identity,
  pages,
}: Pick<SiteContent, 'identity'> & { pages: readonly SitePage[] }): Section[] {
  const named = identity.sections.filter((section) => section !== OPTIONAL_SECTION);
  const others = pages.map(({ section }) => section).filter((section) => section !== OPTIONAL_SECTION);
  return [...new Set([...named, ...others, OPTIONAL_SECTION])]
    .map((section) => ({ section, pages: pages.filter((page) => page.section === section) }))
    .filter((group) => group.pages.length > 0);
}

interface LlmsEntry {
  /**
   * Null for addresses that are called rather than read: they are shown as code, so that no agent takes the response
   * for a page.
   */
  title: string | null;
  url: string;
  description: string;
  tokens: number;
}

/** `/llms.txt` (llmstxt.org): the entry point for agents, with the length of each linked page. */
export function createLlms(deps: DocumentDeps, others: LlmsOthers): SiteDocument {
  const description = 'The index for agents, with the length of each page.';
  const api = others.api.map((item) => once(() => documentEntry(deps, item)));
  const optional = others.optional.map((item) => once(() => documentEntry(deps, item)));
  const signal = signalEntries(deps);
  const allOf = (entries: readonly (() => LlmsEntry)[]) => entries.map((entry) => entry());
  const make = () => {
    const made = { api: allOf(api), optional: allOf(optional), signal: allOf(signal) };
    return { contentType: TEXT, body: llmsText(deps, made), lastModified: deps.madeAt };
  };
  const steps = [...api, ...optional, ...signal];
  return lateDocument({ path: LLMS_PATH, title: 'llms.txt', description }, make, steps);
}

/** The entries of everything other than pages, by section. */
type OtherEntries = Record<'api' | 'optional' | 'signal', LlmsEntry[]>;

function llmsText(deps: DocumentDeps, others: OtherEntries): string {
  const { baseUrl, content } = deps;
  const { identity } = content;
  const groups = bySection({ identity, pages: deps.completePages() }).map(({ section, pages }) => ({
    section,
    entries: pages.map((page) => ({
      ...page,
      description: brief(page.description),
      url: `${baseUrl}${markdownPath(page.path)}`,
    })),
  }));
  const optional = groups.find(({ section }) => section === OPTIONAL_SECTION);
  const body = [
    `# ${identity.name}`,
    `> ${identity.description}`,
    INTRODUCTION,
    forAgents(deps),
    ...groups.filter((group) => group !== optional).map(({ section, entries }) => list(section, entries)),
    list('API', [...operationEntries(deps), ...others.api]),
    list('Signal API', others.signal),
    list(OPTIONAL_SECTION, [...(optional?.entries ?? []), ...others.optional]),
  ];
  return `${body.join('\n\n')}\n`;
}

/** The descriptions of /v1, each with the length of its response. */
function signalEntries({ baseUrl, signalApi }: DocumentDeps): (() => LlmsEntry)[] {
  const entry = (title: string | null, path: string, description: string, answer: () => unknown) =>
    once(() => ({
      title,
      url: `${title === null ? 'GET ' : ''}${baseUrl}${path}`,
      description,
      tokens: estimateTokenCount(JSON.stringify(answer())),
    }));
  return [
    entry(null, SIGNAL_API_PATH, 'What it is for and where it is described.', signalApi.index),
    entry(
      null,
      SIGNAL_OPERATIONS_PATH,
      'Every operation in a line: method, path, summary, scope and tag.',
      signalApi.operations,
    ),
    entry(
      'Signal API description',
      SIGNAL_OPENAPI_PATH,
      'OpenAPI 3.1 of the whole API and its webhooks; `?operation=createSignal` gives one operation.',
      signalApi.description,
    ),
  ];
}

/** Documents that llms.txt lists in addition to pages and operations. */
export interface LlmsOthers {
  api: readonly SiteDocument[];
  optional: readonly SiteDocument[];
}

const INTRODUCTION =
  'Pages are markdown at their `.md` addresses; the number behind a link is its length in tokens. The signal API takes posts, scores them and delivers signals: it alone needs a key.';

/** The request that most agents need: hot signals, without having to read a description first. */
const HOT_THIS_WEEK = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'search_signals', arguments: { classification: 'hot', since: '7d', limit: 5 } },
});

function forAgents({ baseUrl, content }: DocumentDeps): string {
  const hasPage = content.pages.some(({ path }) => path === AGENTS_PATH);
  const page = hasPage ? `\n\nElse read [For agents](${baseUrl}${markdownPath(AGENTS_PATH)}) first.` : '';
  return `Agents with an API key use MCP at ${baseUrl}${MCP_PATH}. This week's hot signals with reasons, in one request: \`curl ${baseUrl}${MCP_PATH} -H "Authorization: Bearer $API_KEY" --json '${HOT_THIS_WEEK}'\`${page}`;
}

/** `/llms-full.txt`: the markdown of all pages in one file. */
export function createLlmsFull({ baseUrl, content, madeAt, completePages }: DocumentDeps): SiteDocument {
  const description = 'The text of all pages in one file.';
  return lateDocument({ path: LLMS_FULL_PATH, title: 'llms-full.txt', description }, () => {
    const { identity } = content;
    const pages = bySection({ identity, pages: completePages() }).flatMap((group) => group.pages);
    const texts = pages.map((page) => `Source: ${pageUrl(baseUrl, page.path)}\n\n${page.markdown.trim()}`);
    const head = `# ${identity.name}\n\n> ${identity.description}`;
    return { contentType: TEXT, body: `${[head, ...texts].join('\n\n---\n\n')}\n`, lastModified: madeAt };
  });
}

function operationEntries({ baseUrl, publicApi }: DocumentDeps): LlmsEntry[] {
  const { paths } = publicApi();
  return PUBLIC_OPERATIONS.map((operation) => ({
    title: null,
    url: `GET ${baseUrl}${operation.path}`,
    description: `${operation.summary}.`,
    tokens: estimateTokenCount(JSON.stringify(exampleOf(paths[operation.path]?.get))),
  }));
}

const MAX_DESCRIPTION_CHARS = 32;

/** A description short enough for a list of all pages: its first sentence, truncated at a word. */
function brief(description: string): string {
  const [sentence = description] = /^.+?[.!?](?= \p{Lu}|$)/su.exec(description) ?? [];
  return excerpt(sentence, MAX_DESCRIPTION_CHARS);
}

function documentEntry({ baseUrl, madeAt }: DocumentDeps, document: SiteDocument): LlmsEntry {
  const { path, title, description } = document;
  const tokens = estimateTokenCount(document.at(madeAt).plain.body.toString('utf8'));
  const isCalled = path === API_CATALOG_PATH;
  return { title: isCalled ? null : title, url: `${baseUrl}${path}`, description, tokens };
}

function list(section: string, entries: readonly LlmsEntry[]): string {
  const lines = entries.map(
    ({ title, url, description, tokens }) =>
      `- ${title === null ? `\`${url}\`` : `[${title}](${url})`}: ${description} (${tokens})`,
  );
  return `## ${section}\n\n${lines.join('\n')}`;
}

/** The example of a successful response. */
function exampleOf(operation: OperationObject | undefined): unknown {
  const success = operation?.responses['200'];
  if (success === undefined || '$ref' in success) throw new Error('an operation shows no success');
  return success.content?.['application/json']?.example;
}

/** Caches the result of `make`, which is called on first use only. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
