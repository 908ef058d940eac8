import { z } from 'zod';
import { effectivePlan, planLimits, planRequired } from '../accounts/plans.ts';
import { paginate, paginationSchema, pagingQuery } from '../http/paging.ts';
import { JSON_TYPE, sendAsIs } from '../http/problems.ts';
import {
  attemptErrorSchema,
  attemptTimingsSchema,
  receivedResponseSchema,
  sentRequestSchema,
} from '../model/delivery-resource.ts';
import { eventTypeSchema } from '../model/event.ts';
import { feedEventSchema } from '../model/event-resource.ts';
import { payloadFormatSchema } from '../model/payload-format.ts';
import {
  newSecretSchema,
  webhookCreateSchema,
  webhookPatchSchema,
  webhookResourceSchema,
  webhookWithSecretSchema,
} from '../model/webhook.ts';
import { feedJson, readFeed, refuseBeyondPlan } from '../webhooks/deliveries.ts';
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  endpointResource,
  findEndpoint,
  pauseEndpoint,
  regenerateSecret,
  resumeEndpoint,
} from '../webhooks/endpoints.ts';
import { expectedTest, previewFormat, testEndpoint, testResource } from '../webhooks/test-delivery.ts';
import { addList, answerStored, type ListQuery, storedQuery } from './list.ts';
import type { Routes, RoutesOf } from './routes.ts';

/** `/v1/webhooks`: endpoints that events are delivered to. */
export function addWebhooks(routesOf: RoutesOf): void {
  const webhooks = routesOf('Webhooks');
  webhooks.create('/webhooks', {
    operationId: 'createWebhook',
    summary: 'Create an endpoint',
    description: 'Returns the endpoint with its signing secret, which is shown only once.',
    scope: 'webhooks:write',
    versioned: true,
    problems: ['PLAN_REQUIRED'],
    showsSecret: true,
    body: webhookCreateSchema,
    answer: webhookWithSecretSchema,
    async handle({ deps, caller, body, tag }) {
      const { endpoint, secret } = await createEndpoint(deps, caller.tenant, body);
      return { ...tag(endpoint, endpointResource(endpoint)), secret };
    },
  });
  addList(webhooks, '/webhooks', {
    operationId: 'listWebhooks',
    summary: 'List endpoints',
    description: 'Oldest first.',
    scope: 'webhooks:read',
    item: webhookResourceSchema,
    read: ({ deps: { store }, tenantId }, place) => store.pageEndpoints(tenantId, place),
    show: ({ rows }) => rows.map(endpointResource),
  });
  webhooks.get('/webhooks/:id', {
    operationId: 'getWebhook',
    summary: 'Get an endpoint',
    scope: 'webhooks:read',
    versioned: true,
    answer: webhookResourceSchema,
    async handle({ deps, tenantId, params, tag }) {
      const endpoint = await findEndpoint(deps.store, tenantId, params.id);
      return tag(endpoint, endpointResource(endpoint));
    },
  });
  webhooks.patch('/webhooks/:id', {
    operationId: 'updateWebhook',
    summary: 'Update an endpoint',
    description:
      'Omitted members stay as they are. The new settings apply from the next attempt; existing payloads keep their format.',
    scope: 'webhooks:write',
    versioned: true,
    problems: ['PLAN_REQUIRED', 'CONFLICT'],
    body: webhookPatchSchema,
    answer: webhookResourceSchema,
    async handle({ deps, caller, params, body, when, tag }) {
      const endpoint = await changeEndpoint(deps, caller.tenant, { id: params.id, patch: body, when });
      return tag(endpoint, endpointResource(endpoint));
    },
  });
  webhooks.remove('/webhooks/:id', {
    operationId: 'deleteWebhook',
    summary: 'Delete an endpoint',
    description: 'Pending deliveries to the endpoint are discarded.',
    scope: 'webhooks:write',
    versioned: true,
    gone: 'Deleted',
    async handle({ deps, tenantId, params: { id }, when }) {
      await deleteEndpoint(deps, tenantId, id, when);
    },
  });
  addWebhookFeed(webhooks);
  addWebhookActions(webhooks);
  addWebhookTests(webhooks);
}

/** Actions on an endpoint: new secret, pause, resume. */
function addWebhookActions(webhooks: Routes): void {
  webhooks.post('/webhooks/:id/secret', {
    operationId: 'regenerateWebhookSecret',
    summary: 'Regenerate the secret of an endpoint',
    description:
      'Returns the new signing secret, which is shown only once. All later attempts are signed with it, including retries of earlier ' +
      'deliveries. During a grace period, `webhook-signature` also has a signature with the previous secret.',
    scope: 'webhooks:write',
    versioned: true,
    problems: ['CONFLICT'],
    showsSecret: true,
    body: newSecretSchema,
    answer: webhookWithSecretSchema,
    async handle({ deps, caller, params: { id }, body, tag }) {
      const order = { id, graceHours: body?.grace_hours ?? 0 };
      const { endpoint, secret } = await regenerateSecret(deps, caller.tenant, order);
      return { ...tag(endpoint, endpointResource(endpoint)), secret };
    },
  });
  webhooks.post('/webhooks/:id/pause', {
    operationId: 'pauseWebhook',
    summary: 'Pause an endpoint',
    description: [
      'No attempt is made until the endpoint is resumed manually. Attempts in progress are completed and recorded. Deliveries are held',
      'for up to 7 days, then moved to the dead-letter queue, or discarded if `dead_letter` is `false`.',
    ].join(' '),
    scope: 'webhooks:write',
    versioned: true,
    problems: ['CONFLICT'],
    answer: webhookResourceSchema,
    async handle({ deps, caller, params, tag }) {
      const endpoint = await pauseEndpoint(deps, caller.tenant, params.id);
      return tag(endpoint, endpointResource(endpoint));
    },
  });
  webhooks.post('/webhooks/:id/resume', {
    operationId: 'resumeWebhook',
    summary: 'Resume an endpoint',
    description:
      'Resets the failure count and sends all held deliveries, within the rate limit of the endpoint.',
    scope: 'webhooks:write',
    versioned: true,
    problems: ['PLAN_REQUIRED'],
    answer: webhookResourceSchema,
    async handle({ deps, caller, params, tag }) {
      const endpoint = await resumeEndpoint(deps, caller.tenant, params.id);
      return tag(endpoint, endpointResource(endpoint));
    },
  });
}

const feedSchema = z.strictObject({
  data: z.array(feedEventSchema).describe('Events in the order of storing, oldest first.'),
  pagination: paginationSchema.describe(
    'Position in the feed. Every page has a `next_cursor`, including the last.',
  ),
  truncated: z
    .boolean()
    .describe(
      '`true` if the cursor is older than 7 days: events after it were deleted, and this is the oldest page.',
    ),
});

/** `GET /v1/webhooks/{id}/feed`: the deliveries of an endpoint, to be pulled. */
function addWebhookFeed(webhooks: Routes): void {
  webhooks.add('GET /webhooks/:id/feed', {
    operationId: 'readWebhookFeed',
    summary: 'Read the feed of an endpoint',
    description: [
      'Returns the deliveries of the last 7 days in the order of storing, for endpoints of both modes. Anything stored later comes',
      'after a returned cursor. Without a cursor, the feed starts with the oldest event. A page has at most 1 MiB of payloads; a',
      'page without events can have `has_more`.',
    ].join(' '),
    scope: 'webhooks:read',
    problems: ['PLAN_REQUIRED'],
    query: {
      limit: pagingQuery.limit,
      cursor: storedQuery.cursor.describe(
        'Cursor of the page: the `next_cursor` of the previous response. `now` starts with events from now on.',
      ),
      wait: storedQuery.wait.describe('How many seconds to wait for new events if there are none.'),
    },
    response: { 200: feedSchema },
    async answer(call) {
      const { request, reply, deps, tenantId, caller, params, query } = call;
      const endpoint = await findEndpoint(deps.store, tenantId, params.id);
      refuseBeyondPlan(deps, caller.tenant, endpoint);
      let truncated = false;
      return answerStored(call, {
        kind: 'feeds',
        bound: { name: 'feed', filters: endpoint.id },
        query: query as ListQuery,
        async read(place) {
          const read = await readFeed(deps, endpoint, place);
          truncated ||= read.truncated;
          return read;
        },
        async answer(page, nextCursor) {
          const end = { baseUrl: deps.baseUrl, limit: query.limit, nextCursor, hasMore: page.hasMore };
          const pagination = JSON.stringify(paginate(request, reply, end));
          const data = feedJson(deps, endpoint, page.rows);
          return sendAsIs(
            reply,
            JSON_TYPE,
            `{"data":[${data}],"pagination":${pagination},"truncated":${truncated}}`,
          );
        },
      });
    },
  });
}

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
function addWebhookTests(webhooks: Routes): void {
  webhooks.get('/webhooks/:id/test', {
    operationId: 'getWebhookTest',
    summary: 'Get the test delivery of an endpoint',
    description:
      'Returns the body and signature of a test delivery. They stay the same as long as the secret does.',
    scope: 'webhooks:read',
    answer: expectedSchema,
    handle: async ({ deps, tenantId, params }) =>
      expectedTest(deps, await findEndpoint(deps.store, tenantId, params.id)),
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
    async handle({ deps, tenantId, params, body }) {
      const endpoint = await findEndpoint(deps.store, tenantId, params.id);
      return testResource(await testEndpoint(deps, endpoint, body?.event ?? null));
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
    handle: ({ deps, caller, body: { payload_format: format, signal_id: signalId = null } }) =>
      previewFormat(deps, caller.tenant, { format, signalId }),
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
    async handle({ deps, caller }) {
      const plan = effectivePlan(caller.tenant, deps.clock.now());
      if (!planLimits(plan).sourceIps) {
        throw planRequired('pro', `The ${plan} plan does not include the list of source addresses.`);
      }
      return { source_ips: [...deps.sourceIps] };
    },
  });
}
