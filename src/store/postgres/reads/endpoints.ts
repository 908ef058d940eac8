import { LRUCache } from 'lru-cache';
import { MCP_EVENT_SCOPES } from '../../../model/constants.ts';
import type { EndpointNotice } from '../../../model/event.ts';
import { shapeOf } from '../../../model/payload-shape.ts';
import type { EndpointMode, WebhookInput } from '../../../model/webhook.ts';
import type { EndpointStore, Receiver, SubscriptionStore } from '../../endpoint-store.ts';
import type {
  Backfill,
  BackfillStore,
  EventRemainder,
  NoticeStore,
  RemainderStore,
} from '../../event-store.ts';
import { type CreationPage, creationPage, lookedAt, pageByCreation, pageOfUncached } from '../../pages.ts';
import type { Connection } from '../connection.ts';
import { rows, value, values } from '../sql/prepared.ts';
import { ENDPOINTS, LISTED_ENDPOINTS, SUBSCRIPTIONS, Table } from '../tables.ts';

export function endpointReads(db: Connection) {
  const count = value<[string], number>(
    db,
    "SELECT count(*) FROM webhook_endpoints WHERE tenant_id = ? AND deleted_at IS NULL AND mode <> 'mcp'",
  );
  // IDs increase, so that one that replaces another is noticed.
  const selectStamp = value<[string], string>(
    db,
    `SELECT count(*) || '-' || coalesce(sum(version), 0) || '-' || coalesce(max(id), '')
     FROM webhook_endpoints WHERE tenant_id = ? AND deleted_at IS NULL`,
  );
  const selectPage = LISTED_ENDPOINTS.select<[{ tenantId: string } & CreationPage]>(
    db,
    `WHERE tenant_id = :tenantId AND deleted_at IS NULL AND mode <> 'mcp' AND (created_at, id) > (:createdAt, :id)
     ORDER BY created_at, id LIMIT :limit`,
  );
  const selectOne = ENDPOINTS.select<[string, string]>(
    db,
    "WHERE id = ? AND tenant_id = ? AND deleted_at IS NULL AND mode <> 'mcp'",
  );

  return {
    countEndpoints: async (tenantId) => (await count(tenantId)) ?? 0,
    endpointStamp: async (tenantId) => (await selectStamp(tenantId)) ?? '',
    pageEndpoints: async (tenantId, page) =>
      pageByCreation(page, await selectPage.all({ tenantId, ...creationPage(page) })),
    getEndpoint: (tenantId, id) => selectOne.get(id, tenantId),
  } satisfies Partial<EndpointStore>;
}

/** The area of the scope that subscribers of an event need; `:write` includes `:read`. */
const SCOPE_AREAS = Object.entries(MCP_EVENT_SCOPES)
  .map(([name, scope]) => `WHEN '${name}' THEN '${scope.split(':')[0]}'`)
  .join(' ');

/** Subscriptions `s` that are over because of their time, their key `k`, its scope, or their endpoint `e`. */
export const ENDED_SUBSCRIPTIONS = `mcp_subscriptions s
    LEFT JOIN api_keys k ON k.id = s.key_id LEFT JOIN webhook_endpoints e ON e.id = s.endpoint_id
  WHERE (s.expires_at <= :now OR (k.id IS NULL AND substr(s.key_id, 1, 4) <> 'tok_')
    OR k.revoked_at IS NOT NULL OR k.expires_at <= :now
    OR k.scopes::text NOT LIKE '%"' || (CASE s.name ${SCOPE_AREAS} END) || ':%'
    OR e.id IS NULL OR e.deleted_at IS NOT NULL OR e.paused_reason = 'gone')`;

/** The size of the cache of prepared settings, in bytes of their JSON. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024;

/**
 * Endpoints prepared for routing, cached per version: the current version is queried each time, so that changes by
 * other nodes apply at once. The least recently used ones are evicted.
 */
export function receiverReads(db: Connection, kept = createReceiverCache()) {
  const selectRevision = value<[string], string>(db, 'SELECT revision::text FROM tenants WHERE id = ?');
  const selectVersions = rows<[string, string, number], { id: string; version: number }>(
    db,
    'SELECT id, version FROM webhook_endpoints WHERE tenant_id = ? AND id > ? AND deleted_at IS NULL ORDER BY id LIMIT ?',
  );
  const selectSome = rows<
    [string[]],
    { id: string; version: number; mode: EndpointMode; settings: WebhookInput; bytes: number }
  >(
    db,
    'SELECT id, version, mode, settings, length(settings::text) AS bytes FROM webhook_endpoints WHERE id = ANY (?)',
  );

  return {
    receiverStamp: async (tenantId) => (await selectRevision(tenantId)) ?? '',
    async pageReceivers(tenantId, { limit, after }) {
      const versions = await selectVersions(tenantId, String(after?.[0] ?? ''), lookedAt(limit) + 1);
      // Rows are parsed as they arrive, in pieces, however many bytes they have.
      const bytesOf = ({ id, version }: { id: string; version: number }) =>
        kept.get(id)?.version === version ? 0 : 1;
      const { rows: live, last } = pageOfUncached(versions, limit, bytesOf);
      const found = new Map<string, Receiver>();
      const unknown: string[] = [];
      for (const { id, version } of live) {
        const known = kept.get(id);
        if (known?.version === version) found.set(id, known.receiver);
        else unknown.push(id);
      }
      for (const { id, version, mode, settings, bytes } of unknown.length === 0
        ? []
        : await selectSome(unknown)) {
        const shape = settings.payload_format === null ? null : shapeOf(settings.payload_format);
        const receiver = { id, mode, settings, shape };
        kept.set(id, { version, receiver, bytes });
        found.set(id, receiver);
      }
      return { rows: live.flatMap(({ id }) => found.get(id) ?? []), last };
    },
  } satisfies Partial<EndpointStore>;
}

/** The cache shared by all connections of a process. */
export function createReceiverCache() {
  return new LRUCache<string, { version: number; receiver: Receiver; bytes: number }>({
    maxSize: MAX_KEPT_BYTES,
    sizeCalculation: ({ bytes }) => Math.max(1, bytes),
  });
}

export function subscriptionReads(db: Connection) {
  const select = SUBSCRIPTIONS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  const selectEndpoint = ENDPOINTS.select<[string, string]>(
    db,
    `WHERE deleted_at IS NULL
       AND id = (SELECT endpoint_id FROM mcp_subscriptions WHERE id = ? AND tenant_id = ?)`,
  );
  const selectEnded = values<[{ tenantId: string; now: number }], string>(
    db,
    `SELECT s.endpoint_id FROM ${ENDED_SUBSCRIPTIONS} AND s.tenant_id = :tenantId`,
  );

  return {
    async findSubscription(tenantId, id) {
      const [subscription, endpoint] = await Promise.all([
        select.get(id, tenantId),
        selectEndpoint.get(id, tenantId),
      ]);
      return subscription === null || endpoint === null ? null : { subscription, endpoint };
    },
    listEndedSubscriptions: (tenantId, now) => selectEnded({ tenantId, now }),
  } satisfies Partial<SubscriptionStore>;
}

const NOTICES = new Table<EndpointNotice>('endpoint_notices', {
  ...{ id: 'plain', tenantId: 'plain', type: 'plain', endpointId: 'plain', facts: 'json' },
});

export function noticeReads(db: Connection) {
  return {
    // From tenant to tenant in the index: DISTINCT would read all of their rows.
    listNoticeTenants: values<[], string>(
      db,
      `WITH RECURSIVE waiting (tenant) AS (
         SELECT min(tenant_id) FROM endpoint_notices
         UNION ALL
         SELECT (SELECT min(tenant_id) FROM endpoint_notices WHERE tenant_id > tenant) FROM waiting WHERE tenant IS NOT NULL
       )
       SELECT tenant FROM waiting WHERE tenant IS NOT NULL`,
    ),
    listNotices: NOTICES.select<[string, number]>(db, 'WHERE tenant_id = ? ORDER BY id LIMIT ?').all,
  } satisfies Partial<NoticeStore>;
}

export function restReads(db: Connection) {
  return {
    listRemainders: rows<[number], EventRemainder>(
      db,
      'SELECT tenant_id AS "tenantId", event_id AS "eventId", part FROM event_remainders ORDER BY event_id, part LIMIT ?',
    ),
  } satisfies Partial<RemainderStore>;
}

export function backfillReads(db: Connection) {
  return {
    listBackfills: rows<[number], Backfill>(
      db,
      `SELECT id AS "endpointId", tenant_id AS "tenantId", backfill_from AS "from", created_at AS until,
              backfill_position AS position
       FROM webhook_endpoints WHERE backfill_from IS NOT NULL AND deleted_at IS NULL ORDER BY created_at LIMIT ?`,
    ),
  } satisfies Partial<BackfillStore>;
}
