import { API_VERSION } from '../versions.ts';
import type { JsonSchema, Reference } from './document-types.ts';

interface Header {
  description: string;
  required: boolean;
  schema: JsonSchema;
  example?: unknown;
}

const count = { type: 'integer', minimum: 0 };

/** Every header that an answer of an API can have, by its name; the documents refer to them. */
export const HEADERS: Record<string, Header> = {
  'X-Request-Id': {
    ...always('ID of the request: the one you sent, or a generated one. Include it when you contact us.', {
      type: 'string',
    }),
    example: 'req_1m7z9zj3wceqck2wzmktf747g',
  },
  'X-API-Version': always('Version of the API.', { type: 'string', enum: [API_VERSION] }),
  'RateLimit-Limit': {
    ...always('Maximum number of requests in a window.', { ...count, minimum: 1 }),
    example: 60,
  },
  'RateLimit-Remaining': { ...always('Number of requests left in the window.', count), example: 59 },
  'RateLimit-Reset': {
    ...always('When the window ends, in Unix seconds.', { type: 'integer' }),
    example: 1767225660,
  },
  'RateLimit-Policy': {
    ...always('Limit, and length of the window in seconds.', { type: 'string', pattern: '^\\d+;w=\\d+$' }),
    example: '60;w=60',
  },
  RateLimit: {
    ...always(
      'The same in one field (draft-ietf-httpapi-ratelimit-headers): `r` requests are left, and the window ends in `t` seconds.',
      { type: 'string', pattern: '^"default";r=\\d+;t=\\d+$' },
    ),
    example: '"default";r=59;t=42',
  },
  'Retry-After': { ...always('Number of seconds to wait before retrying.', count), example: 17 },
  'WWW-Authenticate': always('Authentication scheme to use.', { type: 'string' }),
  Allow: { ...always('Supported methods.', { type: 'string' }), example: 'GET, HEAD, OPTIONS' },
  Deprecation: always('The operation is deprecated.', { type: 'string', enum: ['true'] }),
  Sunset: always('When the operation will be removed, as an HTTP date (RFC 8594).', { type: 'string' }),
  Location: always('URL of the created object.', { type: 'string', format: 'uri' }),
  ETag: {
    ...sometimes(
      'Version of the object, for `If-Match` and `If-None-Match` (RFC 9110). A replayed response has none.',
      { type: 'string' },
    ),
    example: '"qT8bFzZ0x1Yk.Jb2mW9uQv0s7LxPa"',
  },
  Link: sometimes('`rel="next"`: URL of the next page, if there is one (RFC 8288).', { type: 'string' }),
  'Idempotent-Replayed': sometimes('`true` if this is the stored response of an earlier request.', {
    type: 'string',
    enum: ['true'],
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
    'RateLimit',
  ].map((name) => [name, headerRef(name)]),
);

function always(description: string, schema: JsonSchema): Header {
  return { description, required: true, schema };
}

function sometimes(description: string, schema: JsonSchema): Header {
  return { description, required: false, schema };
}
