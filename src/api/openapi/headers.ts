import type { Reference } from './document-types.ts';

interface Header {
  description: string;
  required: boolean;
  schema: Record<string, unknown>;
}

/** Every header that an answer of /v1 can have, by its name; the document refers to them. */
export const HEADERS: Record<string, Header> = {
  'X-Request-Id': always('Id of this request: yours where you sent one, else ours; we log it', {
    type: 'string',
  }),
  'X-API-Version': always('The version that answered', { const: 'v1' }),
  'RateLimit-Limit': always('Requests that the key may make in a window', { type: 'integer', minimum: 1 }),
  'RateLimit-Remaining': always('Requests that are left in this window', { type: 'integer', minimum: 0 }),
  'RateLimit-Reset': always('When the window ends, in Unix seconds', { type: 'integer' }),
  'RateLimit-Policy': always('Limit and window in seconds, such as `600;w=60`', {
    type: 'string',
    pattern: '^\\d+;w=\\d+$',
  }),
  'Retry-After': always('Whole seconds after which another try makes sense', { type: 'integer', minimum: 0 }),
  'WWW-Authenticate': always('The scheme to authenticate with', { type: 'string' }),
  Deprecation: always('This operation will go', { const: 'true' }),
  Sunset: always('When it goes (HTTP date, RFC 8594)', { type: 'string' }),
  Location: always('Address of what was made', { type: 'string', format: 'uri' }),
  Link: sometimes('`rel="next"`: the next page, where there is one (RFC 8288)', { type: 'string' }),
  'Idempotent-Replayed': sometimes('`true` where this is the stored answer of an earlier request', {
    const: 'true',
  }),
};

export function headerRef(name: string): Reference {
  return { $ref: `#/components/headers/${name}` };
}

/** What every answer carries, errors included. */
export const ANSWER_HEADERS: Record<string, Reference> = Object.fromEntries(
  [
    'X-Request-Id',
    'X-API-Version',
    'RateLimit-Limit',
    'RateLimit-Remaining',
    'RateLimit-Reset',
    'RateLimit-Policy',
  ].map((name) => [name, headerRef(name)]),
);

function always(description: string, schema: Record<string, unknown>): Header {
  return { description, required: true, schema };
}

function sometimes(description: string, schema: Record<string, unknown>): Header {
  return { description, required: false, schema };
}
