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
    ...always('Id of this request: yours where you sent one, else ours; we log it', { type: 'string' }),
    example: 'req_1m7z9zj3wceqck2wzmktf747g',
  },
  'X-API-Version': always('The version that answered', { type: 'string', enum: [API_VERSION] }),
  'RateLimit-Limit': { ...always('Requests that a window allows', { ...count, minimum: 1 }), example: 60 },
  'RateLimit-Remaining': { ...always('Requests that are left in this window', count), example: 59 },
  'RateLimit-Reset': {
    ...always('When the window ends, in Unix seconds', { type: 'integer' }),
    example: 1767225660,
  },
  'RateLimit-Policy': {
    ...always('Limit and window in seconds', { type: 'string', pattern: '^\\d+;w=\\d+$' }),
    example: '60;w=60',
  },
  RateLimit: {
    ...always(
      'The same as one field, as the IETF has it (draft-ietf-httpapi-ratelimit-headers): `r` requests are left, and the window ends in `t` seconds',
      { type: 'string', pattern: '^"default";r=\\d+;t=\\d+$' },
    ),
    example: '"default";r=59;t=42',
  },
  'Retry-After': { ...always('Whole seconds after which another try makes sense', count), example: 17 },
  'WWW-Authenticate': always('The scheme to authenticate with', { type: 'string' }),
  Allow: { ...always('The methods that are served', { type: 'string' }), example: 'GET, HEAD, OPTIONS' },
  Deprecation: always('This operation will go', { type: 'string', enum: ['true'] }),
  Sunset: always('When it goes (HTTP date, RFC 8594)', { type: 'string' }),
  Location: always('Address of what was made', { type: 'string', format: 'uri' }),
  ETag: {
    ...sometimes(
      'Stands for what the resource is now: for `If-Match` and `If-None-Match` (RFC 9110). A replayed answer has none',
      { type: 'string' },
    ),
    example: '"qT8bFzZ0x1Yk.Jb2mW9uQv0s7LxPa"',
  },
  Link: sometimes('`rel="next"`: the next page, where there is one (RFC 8288)', { type: 'string' }),
  'Idempotent-Replayed': sometimes('`true` where this is the stored answer of an earlier request', {
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
