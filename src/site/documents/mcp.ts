import { PACKAGE } from '../../lib/package.ts';
import { SCOPES } from '../../model/key.ts';
import { MCP_DESCRIPTION, MCP_METADATA_PATH, MCP_PATH, MCP_VERSIONS } from '../../model/mcp.ts';
import { AGENTS_PATH, MCP_CARD_PATH, MCP_CARD_PATHS } from '../addresses.ts';
import { fixedDocument, type SiteDocument } from './document.ts';
import type { DocumentParts } from './parts.ts';

const JSON_TYPE = 'application/json';

/** How an agent that knows the site's address finds its MCP server, and what it needs to connect. */
export function createMcpDocuments(parts: DocumentParts): SiteDocument[] {
  return [...MCP_CARD_PATHS.map((path) => createCard(parts, path)), createMetadata(parts)];
}

/** An MCP Server Card (SEP-2127). Tools are left to `tools/list`, which knows what a key may use. */
function createCard({ baseUrl, content, madeAt }: DocumentParts, path: string): SiteDocument {
  const reversed = new URL(baseUrl).hostname.split('.').reverse().join('.');
  const card = {
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name: `${reversed}/signalpost`,
    title: `${content.identity.name}: Signalpost`,
    description: MCP_DESCRIPTION,
    version: PACKAGE.version,
    websiteUrl: `${baseUrl}${AGENTS_PATH}`,
    remotes: [
      {
        type: 'streamable-http',
        url: `${baseUrl}${MCP_PATH}`,
        supportedProtocolVersions: MCP_VERSIONS,
        headers: [
          {
            name: 'Authorization',
            description: 'Bearer and an API key, sp_live_…',
            isRequired: true,
            isSecret: true,
          },
        ],
      },
    ],
  };
  return fixedDocument({
    path,
    title: 'MCP server card',
    description: 'Where agents connect, and with what (SEP-2127).',
    contentType: JSON_TYPE,
    body: `${JSON.stringify(card, null, 2)}\n`,
    lastModified: madeAt,
    ...(path !== MCP_CARD_PATH && { headers: { link: `<${baseUrl}${MCP_CARD_PATH}>; rel="canonical"` } }),
  });
}

/** The metadata of the protected resource (RFC 9728, section 2): tokens are API keys. */
function createMetadata({ baseUrl, madeAt }: DocumentParts): SiteDocument {
  const metadata = {
    resource: `${baseUrl}${MCP_PATH}`,
    resource_name: 'Signalpost',
    resource_documentation: `${baseUrl}${AGENTS_PATH}`,
    bearer_methods_supported: ['header'],
    scopes_supported: SCOPES,
  };
  return fixedDocument({
    path: MCP_METADATA_PATH,
    title: 'Protected resource metadata',
    description: 'How requests to the MCP server are authorized (RFC 9728).',
    contentType: JSON_TYPE,
    body: `${JSON.stringify(metadata, null, 2)}\n`,
    lastModified: madeAt,
  });
}
