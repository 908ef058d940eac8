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
    'HMAC-SHA256 of the body without this member, lowercase hex, keyed with the secret as it was shown',
  );

const SUMMARIES: Record<string, string> = {
  'signal.detected': 'A signal was detected',
  'signal.new_hot': 'A hot signal was detected',
  'lead.enriched': 'A lead was enriched',
  'pipeline.stage_changed': "A lead's stage changed",
  'campaign.status_changed': "A campaign's status changed",
  'digest.ready': 'The digest of the day is ready',
  'reply.classified': 'A reply was classified',
  'deal.changed': 'A deal changed',
  'endpoint.failing': 'Attempts to an endpoint fail one after the other',
  'endpoint.paused': 'An endpoint was paused',
  'endpoint.recovered': 'An endpoint that failed or was paused took a delivery again',
  'delivery.dead': 'A delivery ran out of retries',
  'webhook.test': 'A test delivery was asked for',
};

const DELIVERED = `Posted to every endpoint that is subscribed to it, at least once, possibly out of order: tell repetitions by
\`webhook-id\` (a signal by its \`signal_id\`), and sort by \`timestamp\`. Any 2xx within the time limit is success; redirects are
not followed. Verify one of the signatures over the bytes as they came.`;

const SHAPED = "An endpoint's payload format may leave fields out, flatten them, and add others.";

const HEADERS: [name: string, description: string, schema: JsonSchema][] = [
  [
    'X-Service-Signature',
    'Lowercase hex HMAC-SHA256 of the exact body, keyed with the secret as it was shown',
    { type: 'string', pattern: '^[0-9a-f]{64}$' },
  ],
  [
    'X-Service-Attempt',
    'Number of this attempt over the whole life of the delivery',
    { type: 'integer', minimum: 1 },
  ],
  ['X-Event-Type', 'Type of the event', { type: 'string', enum: [...EVENT_TYPES, 'webhook.test'] }],
  ['webhook-id', 'The delivery: the same over retries and replays', { type: 'string' }],
  ['webhook-timestamp', 'When this attempt was made, in Unix seconds', { type: 'integer' }],
  [
    'webhook-signature',
    'Signature of Standard Webhooks (standardwebhooks.com): `v1,` and base64',
    { type: 'string', pattern: '^v1,' },
  ],
];

/** Describes what endpoints are sent: every kind of event with its body and its signatures. */
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
      '2XX': { description: 'Taken; the body of the answer is not read' },
      '410': { description: 'Not wanted any more: the endpoint is paused' },
      '429': { description: 'Too many; the next attempt waits for `Retry-After`, an hour at most' },
      default: { description: 'A failure, which is tried again' },
    },
  };
}

function bodyOf(event: string): z.ZodType {
  if (event === 'signal.detected') return signalPayloadSchema.extend({ signature: SIGNATURE });
  const data = event === 'webhook.test' ? signalPayloadSchema : EVENT_DATA[event as keyof typeof EVENT_DATA];
  return envelopeSchema(event, data).extend({ signature: SIGNATURE });
}

/** By the same way that routes are described, so that both refer to the same components. */
function toJson(document: Document, schema: z.ZodType): JsonSchema {
  const route = { schema: { response: { 200: schema } } as FastifySchema, url: '', openapiObject: document };
  const { schema: described } = transformRoute(route as unknown as Parameters<typeof transformRoute>[0]);
  return (described as { response: Record<number, JsonSchema> }).response[200] ?? {};
}

function capitalise(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
