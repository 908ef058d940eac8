import type { FastifySchema } from 'fastify';
import { z } from 'zod';
import type { Document, JsonSchema, Operation, Parameter } from '../../http/openapi/document-types.ts';
import type { Examples } from '../../http/openapi/examples.ts';
import { transformRoute } from '../../http/openapi/schemas.ts';
import { EVENT_TYPES } from '../../model/event.ts';
import { EVENT_DATA, envelopeSchema, signalPayloadSchema } from '../../model/event-data.ts';

const SIGNATURE = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .describe(
    'HMAC-SHA256 of the body without this member, in lower-case hex. The key is the secret exactly as shown.',
  );

const SUMMARIES: Record<string, string> = {
  'signal.detected': 'A signal was detected',
  'signal.new_hot': 'A hot signal was detected',
  'lead.enriched': 'A lead was enriched',
  'pipeline.stage_changed': "A lead's stage changed",
  'campaign.status_changed': "A campaign's status changed",
  'digest.ready': 'The daily digest is ready',
  'reply.classified': 'A reply was classified',
  'deal.changed': 'A deal changed',
  'endpoint.failing': 'Deliveries to an endpoint are failing',
  'endpoint.paused': 'An endpoint was paused',
  'endpoint.recovered': 'An endpoint recovered',
  'delivery.dead': 'A delivery ran out of retries',
  'webhook.test': 'A test delivery was requested',
};

const DELIVERED = `Posted to every subscribed endpoint at least once, possibly out of order: deduplicate by \`webhook-id\` (signals by
\`signal_id\`), and sort by \`timestamp\`. Respond with any 2xx status within the timeout; redirects are not followed. Verify one of
the signatures over the exact bytes of the body.`;

const SHAPED =
  'The payload format of an endpoint can leave out fields, flatten nested objects, and add members.';

const HEADERS: [name: string, description: string, schema: JsonSchema][] = [
  [
    'X-Service-Signature',
    'HMAC-SHA256 of the exact body, in lower-case hex. The key is the secret exactly as shown.',
    { type: 'string', pattern: '^[0-9a-f]{64}$' },
  ],
  ['X-Service-Attempt', 'Number of the attempt, from 1, including replays.', { type: 'integer', minimum: 1 }],
  ['X-Event-Type', 'Type of the event.', { type: 'string', enum: [...EVENT_TYPES, 'webhook.test'] }],
  ['webhook-id', 'ID of the delivery, the same in all retries and replays.', { type: 'string' }],
  ['webhook-timestamp', 'When the attempt was made, in Unix seconds.', { type: 'integer' }],
  [
    'webhook-signature',
    'Signature by Standard Webhooks (standardwebhooks.com): `v1,` followed by Base64.',
    { type: 'string', pattern: '^v1,' },
  ],
];

/** Adds the webhooks: every type of event with its body and signatures. */
export function addWebhooks(document: Document, { webhooks = {} }: Examples): void {
  const events = [...EVENT_TYPES, 'webhook.test'];
  document.webhooks = Object.fromEntries(
    events.map((event) => [event, { post: describe(document, event, webhooks[event]) }]),
  );
}

function describe(document: Document, event: string, example: unknown): Operation {
  const schema = toJson(document, bodyOf(event));
  return {
    operationId: `on${event.split(/[._]/).map(capitalise).join('')}`,
    summary: SUMMARIES[event] ?? event,
    description: event === 'signal.detected' ? `${DELIVERED}\n\n${SHAPED}` : DELIVERED,
    tags: ['Webhooks'],
    security: [],
    parameters: HEADERS.map(
      ([name, description, one]): Parameter => ({
        name,
        in: 'header',
        required: true,
        description,
        schema: one,
      }),
    ),
    requestBody: {
      required: true,
      content: { 'application/json': { schema, ...(example !== undefined && { example }) } },
    },
    responses: {
      '2XX': { description: 'Accepted. The body of the response is ignored.' },
      '410': { description: 'Gone: the endpoint is paused.' },
      '429': { description: 'Rate limited: the next attempt waits for `Retry-After`, up to an hour.' },
      default: { description: 'Failed: the delivery is retried.' },
    },
  };
}

function bodyOf(event: string): z.ZodType {
  if (event === 'signal.detected') return signalPayloadSchema.extend({ signature: SIGNATURE });
  const data = event === 'webhook.test' ? signalPayloadSchema : EVENT_DATA[event as keyof typeof EVENT_DATA];
  return envelopeSchema(event, data).extend({ signature: SIGNATURE });
}

/** Uses the transformation of routes, so that both refer to the same components. */
function toJson(document: Document, schema: z.ZodType): JsonSchema {
  const route = { schema: { response: { 200: schema } } as FastifySchema, url: '', openapiObject: document };
  const { schema: described } = transformRoute(route as unknown as Parameters<typeof transformRoute>[0]);
  return (described as { response: Record<number, JsonSchema> }).response[200] ?? {};
}

function capitalise(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
