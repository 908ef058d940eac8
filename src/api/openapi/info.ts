import type { Document } from '../../http/openapi/document-types.ts';

const DESCRIPTION = `Signals that someone is about to buy, found in public posts, scored and explained; the leads, pipeline and
campaigns that grow out of them; and signed webhooks that tell your systems.

**Keys.** Send \`Authorization: Bearer sp_live_…\`. Each key has scopes (\`x-required-scope\` on every operation; \`:write\`
includes \`:read\`), a rate limit of its own and may expire. Everything is scoped to the key's tenant: another tenant's id is
404, as an unknown one.

**Answers.** One thing is \`{"data": {…}}\`, many are \`{"data": […], "pagination": {…}}\` with \`Link: rel="next"\`. Cursors are
opaque, and valid for the list and the filters they were made for. Unknown parameters and members are refused with the name
that was probably meant. Times are RFC 3339 in UTC.

**Errors** are problem documents (RFC 9457, \`application/problem+json\`) with a \`code\` to act on, a \`detail\` to read, and a
\`type\` that links to an explanation.

**Safe retries.** Send \`Idempotency-Key\` with any POST: for 24 hours the same key and body replay the first success.

**Compatibility.** Within \`v1\` only compatible changes are made: be ready for new members in answers and new event types.
A deprecation is announced by \`Deprecation\` and \`Sunset\` headers at least 12 months ahead.`;

/** What operations are grouped by, in the order of the document. */
const TAGS = {
  Account: 'Who the key is and what it may do; this description.',
  Signals: 'Observed posts in, scored and explained signals out.',
  Leads: 'People, with what is known of them and where it came from.',
  Pipeline: 'Where each lead stands, how it got there, and the deal it may become.',
  Campaigns: 'Outreach, what came back, and its statistics.',
  Companies: 'What is known of a company, and the signals it sent.',
  Profiles: 'Ideal Customer Profiles: what signals are matched with.',
  Sources: 'Where posts are detected.',
  Webhooks: 'Endpoints that events are delivered to, signed.',
  Deliveries: 'What was sent, what came back, and what could not be delivered.',
  Events: 'Everything that happened, and who was told.',
  Keys: 'API keys, their scopes and limits.',
} as const;
export type TagName = keyof typeof TAGS;
/** The names of all tags. */
export const TAG_NAMES = Object.keys(TAGS) as [TagName, ...TagName[]];

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
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
  };
}
