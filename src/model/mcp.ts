/** Where agents connect by the Model Context Protocol. */
export const MCP_PATH = '/mcp';

/** Where RFC 9728, section 3.1, puts the metadata of the resource at {@link MCP_PATH}. */
export const MCP_METADATA_PATH = `/.well-known/oauth-protected-resource${MCP_PATH}`;

/** The newest revision of the protocol that is served, and the one before it that still is. */
export const MCP_VERSIONS = ['2026-07-28', '2025-11-25'] as const;

/** What agents are told of the server before they connect. */
export const MCP_DESCRIPTION =
  'Buying signals found in posts, scored 0-100 with reasons; leads, pipeline, companies and webhook deliveries of an account.';
