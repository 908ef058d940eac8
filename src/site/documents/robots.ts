import { ROBOTS_PATH, SITEMAP_XML_PATH } from '../addresses.ts';
import { fixedDocument, type SiteDocument, TEXT } from './document.ts';
import type { DocumentParts } from './parts.ts';

/**
 * `/robots.txt` (RFC 9309) with content signals (contentsignals.org): what the pages may be used for. /v1 and the
 * dashboard hold nothing for a crawler; their addresses answer with a refusal or a form.
 */
export function createRobots({ baseUrl, content, madeAt }: DocumentParts): SiteDocument {
  const { search, aiInput, aiTrain } = content.identity.contentSignals;
  const signals = [`search=${yesNo(search)}`, `ai-input=${yesNo(aiInput)}`, `ai-train=${yesNo(aiTrain)}`];
  const body = [
    'User-agent: *',
    `Content-Signal: ${signals.join(', ')}`,
    'Allow: /',
    'Allow: /v1/openapi.json',
    'Disallow: /v1/',
    'Disallow: /dashboard',
    '',
    `Sitemap: ${baseUrl}${SITEMAP_XML_PATH}`,
    '',
  ];
  return fixedDocument({
    path: ROBOTS_PATH,
    title: 'robots.txt',
    description: 'What crawlers may read, and what the pages may be used for.',
    contentType: TEXT,
    body: body.join('\n'),
    lastModified: madeAt,
  });
}

function yesNo(allowed: boolean): string {
  return allowed ? 'yes' : 'no';
}
