import { z } from 'zod';
import { paginate, paginationSchema, pagingQuery } from '../http/paging.ts';
import { JSON_TYPE, sendAsIs } from '../http/problems.ts';
import { feedEventSchema } from '../model/feed.ts';
import { findEndpoint } from '../webhooks/endpoints.ts';
import { feedJson, readFeed, refuseBeyondPlan } from '../webhooks/feed.ts';
import type { Routes } from './routes.ts';
import { type ListQuery, readStored, storedQuery } from './stored-order.ts';

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
export function addWebhookFeed(webhooks: Routes): void {
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
