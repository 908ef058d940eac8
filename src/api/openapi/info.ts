import type { Document } from '../../http/openapi/document-types.ts';
import { API_TAGS } from '../../model/api-tags.ts';

const DESCRIPTION = `Buying signals found in public posts, scored and explained; the leads, pipeline and campaigns that grow out of
them; and signed webhooks to notify your systems.

**Authentication.** Send \`Authorization: Bearer sp_live_…\`. Each key has scopes (\`x-required-scope\` on every operation; \`:write\`
includes \`:read\`) and its own rate limit, and can expire. Requests are scoped to the account of the key: the ID of another account's
object returns 404, like an unknown one.

**Responses.** A single object is returned as \`{"data": {…}}\`, a list as \`{"data": […], "pagination": {…}}\` with \`Link: rel="next"\`.
Cursors are opaque, and valid for the same list and filters only. Unknown parameters and members are refused, with a suggestion
for the intended name. Times are RFC 3339 in UTC.

**Unknown values.** Unknown facts about people, companies and posts are empty strings: a signal has all members of its webhook
payload. Identifiers, links to other objects (\`external_id\`, \`lead_id\`), times, numbers, states and settings that do not apply are
\`null\`.

**Concurrent changes.** Profiles, endpoints, campaigns, leads and sources have an \`ETag\`. Send it as \`If-Match\` with PATCH, PUT or
DELETE to fail with 412 if the object has been changed since; send it as \`If-None-Match\` with GET to get 304 if it has not.

**Errors** are problem documents (RFC 9457, \`application/problem+json\`) with a \`code\` for programs, a \`detail\` for people, and a
\`type\` that links to the documentation.

**Idempotent requests.** Send \`Idempotency-Key\` with any POST: for 24 hours, the same key and body return the first successful response.

**Versioning.** Changes within \`v1\` are backward compatible: expect new members in responses, and new event types. Deprecations are
announced with \`Deprecation\` and \`Sunset\` headers at least 12 months in advance.`;

/** The head of the document; `baseUrl` is the URL of this server. */
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
