import { z } from 'zod';
import { paginate, paginationSchema, pagingQuery } from '../http/paging.ts';
import { JSON_TYPE, sendAsIs } from '../http/problems.ts';
import { feedEventSchema } from '../model/feed.ts';
import { findEndpoint } from '../webhooks/endpoints.ts';
import { feedJson, readFeed, refuseBeyondPlan } from '../webhooks/feed.ts';
import type { Routes } from './routes.ts';
import { type ListQuery, readStored, storedQuery } from './stored-order.ts';

const feedSchema = z.strictObject({
  data: z.array(feedEventSchema).describe('In the order of commit, oldest first'),
  pagination: paginationSchema.describe('`next_cursor` is there on every page, also the last'),
  truncated: z
    .boolean()
    .describe('The cursor is older than 7 days: what stood behind it is gone, and this is the oldest page'),
});

/** `GET /v1/webhooks/{id}/feed`: an endpoint's deliveries, read instead of received. */
export function addWebhookFeed(webhooks: Routes): void {
  webhooks.add('GET /webhooks/:id/feed', {
    operationId: 'readWebhookFeed',
    summary: 'Read what an endpoint is sent, in order',
    description: [
      'For endpoints of both modes: what passes the filters of the endpoint, in the order of commit, for 7 days. Nothing',
      'that is stored later stands before a cursor that was returned. Without a cursor it begins with the oldest event.',
      'A page holds at most 1 MiB of payloads; one without events may say `has_more`.',
    ].join(' '),
    scope: 'webhooks:read',
    problems: ['PLAN_REQUIRED'],
    query: {
      limit: pagingQuery.limit,
      cursor: storedQuery.cursor.describe('`next_cursor` of the page before; `now`: what comes from now on'),
      wait: storedQuery.wait.describe(
        'For how many seconds the answer is held while there is nothing to return',
      ),
    },
    response: { 200: feedSchema },
    async answer(call) {
      const { request, reply, parts, tenantId, caller, params, query } = call;
      const endpoint = await findEndpoint(parts.store, tenantId, params.id);
      refuseBeyondPlan(parts, caller.tenant, endpoint);
      let truncated = false;
      const { page, nextCursor } = await readStored(call, {
        kind: 'feeds',
        bound: { name: 'feed', filters: endpoint.id },
        query: query as ListQuery,
        async read(place) {
          const read = await readFeed(parts, endpoint, place);
          truncated ||= read.truncated;
          return read;
        },
      });
      const { limit } = query;
      const end = { baseUrl: parts.baseUrl, limit, nextCursor, hasMore: page.hasMore };
      const pagination = JSON.stringify(paginate(request, reply, end));
      const data = feedJson(parts, endpoint, page.rows);
      return sendAsIs(
        reply,
        JSON_TYPE,
        `{"data":[${data}],"pagination":${pagination},"truncated":${truncated}}`,
      );
    },
  });
}
