import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { effectivePlan, planLimits, planRequired } from '../accounts/plans.ts';
import { callerOf } from '../http/auth.ts';
import { idParams, noQuery } from '../http/path.ts';
import {
  attemptErrorSchema,
  attemptTimingsSchema,
  receivedResponseSchema,
  sentRequestSchema,
} from '../model/delivery-resource.ts';
import { payloadFormatSchema } from '../model/payload-format.ts';
import { findEndpoint } from '../webhooks/endpoints.ts';
import { previewFormat } from '../webhooks/preview.ts';
import { expectedTest, testEndpoint, testResource } from '../webhooks/test-delivery.ts';
import type { ApiParts } from './parts.ts';

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

/** What helps to connect a receiver: test delivery, preview of a format, source addresses. */
export function addWebhookTests(app: FastifyInstance, parts: ApiParts): void {
  addExpected(app, parts);
  addTest(app, parts);
  addPreview(app, parts);
  addSourceIps(app, parts);
}

function addExpected(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/webhooks/:id/test',
    {
      config: { scope: 'webhooks:read' },
      schema: {
        operationId: 'getWebhookTest',
        summary: 'What a test delivery will send',
        description: 'The same bytes and the same signature as long as the secret stays the same.',
        tags: ['Webhooks'],
        params: idParams,
        querystring: noQuery,
        response: { 200: z.strictObject({ data: expectedSchema }) },
      },
    },
    async (request) => {
      const endpoint = await findEndpoint(parts.store, callerOf(request).tenant.id, request.params.id);
      return { data: expectedTest(parts, endpoint) };
    },
  );
}

function addTest(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/webhooks/:id/test',
    {
      config: { scope: 'webhooks:write' },
      schema: {
        operationId: 'testWebhook',
        summary: 'Send a test delivery and answer what came of it',
        description: [
          'A `webhook.test` envelope around a fixed sample. It takes a place in the throttle of the endpoint (429 where',
          'there is none), works while it is paused, and touches neither its failure count nor its pause.',
        ].join(' '),
        tags: ['Webhooks'],
        params: idParams,
        querystring: noQuery,
        response: { 200: z.strictObject({ data: testResultSchema }) },
      },
    },
    async (request) => {
      const endpoint = await findEndpoint(parts.store, callerOf(request).tenant.id, request.params.id);
      return { data: testResource(await testEndpoint(parts, endpoint)) };
    },
  );
}

function addPreview(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/webhooks/preview',
    {
      config: { scope: 'webhooks:read', problems: ['PLAN_REQUIRED', 'NOT_FOUND'] },
      schema: {
        operationId: 'previewPayloadFormat',
        summary: 'The bodies that a payload format makes',
        description:
          'Of one signal or of the three newest; of a sample where there is none yet. Stores nothing.',
        tags: ['Webhooks'],
        querystring: noQuery,
        body: z.strictObject({
          payload_format: payloadFormatSchema.nullable().default(null),
          signal_id: z.string().min(1).max(64).optional(),
        }),
        response: {
          200: z.strictObject({
            data: z.strictObject({
              bodies: z.array(z.record(z.string(), z.unknown())).describe('Without their `signature` member'),
              sample: z.boolean().describe('Made of a sample, as there is no signal yet'),
            }),
          }),
        },
      },
    },
    async (request) => {
      const { payload_format: format, signal_id: signalId = null } = request.body;
      return { data: await previewFormat(parts, callerOf(request).tenant, { format, signalId }) };
    },
  );
}

function addSourceIps(app: FastifyInstance, { clock, sourceIps }: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/webhooks/source-ips',
    {
      config: { scope: 'webhooks:read', problems: ['PLAN_REQUIRED'] },
      schema: {
        operationId: 'getWebhookSourceIps',
        summary: 'Address ranges that deliveries come from (Pro and above)',
        tags: ['Webhooks'],
        querystring: noQuery,
        response: {
          200: z.strictObject({
            data: z.strictObject({
              source_ips: z.array(z.string()).describe('CIDR ranges; empty: none is published'),
            }),
          }),
        },
      },
    },
    async (request) => {
      const plan = effectivePlan(callerOf(request).tenant, clock.now());
      if (!planLimits(plan).sourceIps) {
        throw planRequired('pro', `The ${plan} plan does not include the list of source addresses.`);
      }
      return { data: { source_ips: [...sourceIps] } };
    },
  );
}
