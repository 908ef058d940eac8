import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { MAX_TAGS_CHARS } from '../../http/entity-tags.ts';
import { describeRoutes } from '../../http/openapi/describe-routes.ts';
import type { Document } from '../../http/openapi/document-types.ts';
import type { Examples } from '../../http/openapi/examples.ts';
import type { ApiParts } from '../parts.ts';
import { documentHead } from './info.ts';
import { completeOperation, problemsOf } from './operations.ts';
import { MEANINGS, PROBLEM_SCHEMA } from './problems.ts';
import { addWebhooks } from './webhooks.ts';

/** Requests and responses of a real server, written by `npm run openapi`. */
const EXAMPLES_FILE = new URL('./examples.json', import.meta.url);

const COMPONENTS: Document['components'] = {
  securitySchemes: {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: 'An API key: `sp_live_` followed by 36 letters and digits.',
    },
  },
  schemas: { Problem: PROBLEM_SCHEMA },
  parameters: {
    IdempotencyKey: {
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description:
        'Makes retries safe: for 24 hours, the same key and body on this operation return the stored response of the first success, ' +
        'with `Idempotent-Replayed: true` and without secrets that are shown only once.',
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
      example: '0d9bc5a2-8a7e-4d6f-9a54-1f7f0e6b1f3c',
    },
    IfMatch: {
      name: 'If-Match',
      in: 'header',
      required: false,
      description:
        'Changes the resource only if its `ETag` is still the one given. Otherwise, the request fails with 412 `PRECONDITION_FAILED`. ' +
        '`*` matches any existing resource.',
      schema: { type: 'string', maxLength: MAX_TAGS_CHARS },
      example: '"qT8bFzZ0x1Yk.Jb2mW9uQv0s7LxPa"',
    },
    IfNoneMatch: {
      name: 'If-None-Match',
      in: 'header',
      required: false,
      description: 'Returns 304 without a body if the resource still has this `ETag`.',
      schema: { type: 'string', maxLength: MAX_TAGS_CHARS },
      example: '"qT8bFzZ0x1Yk.Jb2mW9uQv0s7LxPa"',
    },
  },
};

/** Describes the routes added to `app` from now on, and the webhooks. */
export function collectDocument(
  app: FastifyInstance,
  { baseUrl, deprecations }: Pick<ApiParts, 'baseUrl' | 'deprecations'>,
): Promise<() => Document> {
  const examples = (): Examples => JSON.parse(readFileSync(EXAMPLES_FILE, 'utf8'));
  return describeRoutes(app, {
    head: documentHead(baseUrl),
    components: COMPONENTS,
    complete: completeOperation,
    problemsOf,
    meanings: MEANINGS,
    deprecations,
    examples,
    finish: (document) => addWebhooks(document, examples()),
  });
}
