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
    success: z.boolean().describe('The receiver answered 2xx in time'),
    request: sentRequestSchema,
    response: receivedResponseSchema,
    error: attemptErrorSchema,
    duration_ms: z.number(),
    timings: attemptTimingsSchema,
  })
  .meta({ id: 'WebhookTestResult' });

const expectedSchema = z.strictObject({
  body: z.string().describe('The exact bytes of every test delivery'),
  signature: z.string().describe('`X-Service-Signature` of every test delivery'),
});

const bodiesSchema = z.strictObject({
  bodies: z.array(z.record(z.string(), z.unknown())).describe('Without their `signature` member'),
  sample: z.boolean().describe('Made of a sample, as there is no signal yet'),
});

/** What helps to connect a receiver: test delivery, preview of a format, source addresses. */
export function addWebhookTests(webhooks: Routes): void {
  webhooks.get('/webhooks/:id/test', {
    operationId: 'getWebhookTest',
    summary: 'What a test delivery will send',
    description: 'The same bytes and the same signature as long as the secret stays the same.',
    scope: 'webhooks:read',
    answer: expectedSchema,
    handle: async ({ parts, tenantId, params }) =>
      expectedTest(parts, await findEndpoint(parts.store, tenantId, params.id)),
  });
  webhooks.post('/webhooks/:id/test', {
    operationId: 'testWebhook',
    summary: 'Send a test delivery and answer what came of it',
    description: [
      'A `webhook.test` envelope around a fixed sample. It takes a place in the throttle of the endpoint (429 where',
      'there is none), works while it is paused, and touches neither its failure count nor its pause. With `event` a sample',
      'of that event is sent instead, in the shape that the endpoint gets it in.',
    ].join(' '),
    scope: 'webhooks:write',
    problems: ['CONFLICT'],
    body: z
      .strictObject({
        event: eventTypeSchema.optional().describe('Type of the event; absent: `webhook.test`'),
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
    summary: 'The bodies that a payload format makes',
    description: 'Of one signal or of the three newest; of a sample where there is none yet. Stores nothing.',
    scope: 'webhooks:read',
    problems: ['PLAN_REQUIRED', 'NOT_FOUND'],
    body: z.strictObject({
      payload_format: payloadFormatSchema.nullable().default(null),
      signal_id: z.string().min(1).max(64).optional(),
    }),
    answer: bodiesSchema,
    handle: ({ parts, caller, body: { payload_format: format, signal_id: signalId = null } }) =>
      previewFormat(parts, caller.tenant, { format, signalId }),
  });
  webhooks.get('/webhooks/source-ips', {
    operationId: 'getWebhookSourceIps',
    summary: 'Address ranges that deliveries come from (Pro and above)',
    scope: 'webhooks:read',
    problems: ['PLAN_REQUIRED'],
    answer: z.strictObject({
      source_ips: z.array(z.string()).describe('CIDR ranges; empty: none is published'),
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
