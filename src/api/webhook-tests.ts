import { z } from 'zod';
import { effectivePlan, planLimits, planRequired } from '../accounts/plans.ts';
import {
  attemptErrorSchema,
  attemptTimingsSchema,
  receivedResponseSchema,
  sentRequestSchema,
} from '../model/delivery-resource.ts';
import { eventTypeSchema } from '../model/event.ts';
import { payloadFormatSchema } from '../model/payload-format.ts';
import { findEndpoint } from '../webhooks/endpoints.ts';
import { previewFormat } from '../webhooks/preview.ts';
import { expectedTest, testEndpoint, testResource } from '../webhooks/test-delivery.ts';
import type { Routes } from './routes.ts';

const testResultSchema = z
  .strictObject({
    success: z.boolean().describe('Whether the receiver responded with a 2xx status in time.'),
    request: sentRequestSchema,
    response: receivedResponseSchema,
    error: attemptErrorSchema,
    duration_ms: z.number().describe('Duration of the request, in milliseconds.'),
    timings: attemptTimingsSchema,
  })
  .meta({ id: 'WebhookTestResult', description: 'Result of a test delivery.' });

const expectedSchema = z.strictObject({
  body: z.string().describe('The exact body of each test delivery.'),
  signature: z.string().describe('`X-Service-Signature` of each test delivery.'),
});

const bodiesSchema = z.strictObject({
  bodies: z.array(z.record(z.string(), z.unknown())).describe('The payloads, without their `signature`.'),
  sample: z.boolean().describe('Whether the payload is made from a sample, as there is no signal yet.'),
});

/** Helpers for setting up a receiver: test delivery, preview of a payload format, source IP addresses. */
export function addWebhookTests(webhooks: Routes): void {
  webhooks.get('/webhooks/:id/test', {
    operationId: 'getWebhookTest',
    summary: 'Get the test delivery of an endpoint',
    description:
      'Returns the body and signature of a test delivery. They stay the same as long as the secret does.',
    scope: 'webhooks:read',
    answer: expectedSchema,
    handle: async ({ parts, tenantId, params }) =>
      expectedTest(parts, await findEndpoint(parts.store, tenantId, params.id)),
  });
  webhooks.post('/webhooks/:id/test', {
    operationId: 'testWebhook',
    summary: 'Send a test delivery',
    description: [
      'Sends a `webhook.test` event with a fixed sample and returns the result. With `event`, a sample of that event is sent, in the',
      'payload format of the endpoint. The delivery counts towards the rate limit of the endpoint (429 if it is reached), also works',
      'while the endpoint is paused, and does not affect its failure count.',
    ].join(' '),
    scope: 'webhooks:write',
    problems: ['CONFLICT'],
    body: z
      .strictObject({
        event: eventTypeSchema.optional().describe('Type of the event. Defaults to `webhook.test`.'),
      })
      .nullish(),
    answer: testResultSchema,
    async handle({ parts, tenantId, params, body }) {
      const endpoint = await findEndpoint(parts.store, tenantId, params.id);
      return testResource(await testEndpoint(parts, endpoint, body?.event ?? null));
    },
  });
  webhooks.post('/webhooks/preview', {
    operationId: 'previewPayloadFormat',
    summary: 'Preview a payload format',
    description:
      'Returns the payloads of one signal or of the three newest, or of a sample if there are none. Nothing is stored.',
    scope: 'webhooks:read',
    problems: ['PLAN_REQUIRED', 'NOT_FOUND'],
    body: z.strictObject({
      payload_format: payloadFormatSchema
        .nullable()
        .default(null)
        .describe('The payload format; `null` for the standard payload.'),
      signal_id: z
        .string()
        .min(1)
        .max(64)
        .optional()
        .describe('ID of the signal. Defaults to the three newest.'),
    }),
    answer: bodiesSchema,
    handle: ({ parts, caller, body: { payload_format: format, signal_id: signalId = null } }) =>
      previewFormat(parts, caller.tenant, { format, signalId }),
  });
  webhooks.get('/webhooks/source-ips', {
    operationId: 'getWebhookSourceIps',
    summary: 'List source IP addresses',
    description:
      'Returns the IP address ranges that deliveries are sent from. Requires the Pro plan or above.',
    scope: 'webhooks:read',
    problems: ['PLAN_REQUIRED'],
    answer: z.strictObject({
      source_ips: z.array(z.string()).describe('CIDR ranges; empty if none are published.'),
    }),
    async handle({ parts, caller }) {
      const plan = effectivePlan(caller.tenant, parts.clock.now());
      if (!planLimits(plan).sourceIps) {
        throw planRequired('pro', `The ${plan} plan does not include the list of source addresses.`);
      }
      return { source_ips: [...parts.sourceIps] };
    },
  });
}
