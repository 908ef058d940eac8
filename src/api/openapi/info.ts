import type { Document } from '../../http/openapi/document-types.ts';
import { API_TAGS } from '../../model/api-tags.ts';

const DESCRIPTION = `Signals that someone is about to buy, found in public posts, scored and explained; the leads, pipeline and
campaigns that grow out of them; and signed webhooks that tell your systems.

**Keys.** Send \`Authorization: Bearer sp_live_…\`. Each key has scopes (\`x-required-scope\` on every operation; \`:write\`
includes \`:read\`), a rate limit of its own and may expire. Everything is scoped to the key's tenant: another tenant's id is
404, as an unknown one.

**Answers.** One thing is \`{"data": {…}}\`, many are \`{"data": […], "pagination": {…}}\` with \`Link: rel="next"\`. Cursors are
opaque, and valid for the list and the filters they were made for. Unknown parameters and members are refused with the name
that was probably meant. Times are RFC 3339 in UTC.

**What is unknown.** Facts about people, companies and posts are strings, and empty where they are not known: a signal has every
member that its webhook payload has. Identifiers, links to other records (\`external_id\`, \`lead_id\`), times, numbers, states and
settings that do not apply are \`null\`.

**Changes by several at once.** Profiles, webhook endpoints, campaigns, leads and sources have an \`ETag\`. Send it as \`If-Match\` with
PATCH, PUT or DELETE, and a resource that was changed since is left alone (412); send it as \`If-None-Match\` with GET, and the
answer is 304 while nothing has changed.

**Errors** are problem documents (RFC 9457, \`application/problem+json\`) with a \`code\` to act on, a \`detail\` to read, and a
\`type\` that links to an explanation.

**Safe retries.** Send \`Idempotency-Key\` with any POST: for 24 hours the same key and body replay the first success.

**Compatibility.** Within \`v1\` only compatible changes are made: be ready for new members in answers and new event types.
A deprecation is announced by \`Deprecation\` and \`Sunset\` headers at least 12 months ahead.`;

/** What stands at the head of the document; `baseUrl` is where this server is reached. */
export function documentHead(baseUrl: string): Omit<Document, 'paths' | 'components'> {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Signalpost signal-intelligence API',
      version: '1.0.0',
      summary: 'Signals, leads, pipeline, campaigns and webhooks',
      description: DESCRIPTION,
      contact: { name: 'Developers portal', url: `${baseUrl}/developers` },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    tags: Object.entries(API_TAGS).map(([name, description]) => ({ name, description })),
  };
}
