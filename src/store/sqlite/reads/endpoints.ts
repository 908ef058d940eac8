import type { Database } from 'better-sqlite3';
import { MCP_EVENT_SCOPES } from '../../../model/constants.ts';
import type { EndpointNotice } from '../../../model/event.ts';
import type { McpSubscription } from '../../../model/mcp.ts';
import { shapeOf } from '../../../model/payload-shape.ts';
import type { Endpoint, EndpointMode, ListedEndpoint, WebhookInput } from '../../../model/webhook.ts';
import type { EndpointStore, Receiver, SubscriptionStore } from '../../endpoint-store.ts';
import type {
  Backfill,
  BackfillStore,
  EventRemainder,
  NoticeStore,
  RemainderStore,
} from '../../event-store.ts';
import { type CreationPage, creationPage, lookedAt, pageByBytes, pageOfUncached } from '../../pages.ts';
import { type Part, Table } from '../table.ts';

const LISTED = new Table<ListedEndpoint>('webhook_endpoints', {
  id: 'plain',
  tenantId: 'plain',
  mode: 'plain',
  settings: 'json',
  secretLast4: 'plain',
  previousSecretUntil: 'plain',
  headers: 'json',
  ordered: 'flag',
  backfillFrom: 'plain',
  status: 'plain',
  pausedReason: 'plain',
  pausedAt: 'plain',
  consecutiveFailures: 'plain',
  alarm: 'plain',
  version: 'plain',
  createdAt: 'plain',
});

export const ENDPOINTS = LISTED.with<Omit<Endpoint, keyof ListedEndpoint>>({
  secretBox: 'bytes',
  previousSecretBox: 'bytes',
  headersBox: 'bytes',
});

/** Counts up to `limit` endpoints of a tenant with an ID after `after`; `last` is the last ID, null if there are none. */
export function createEndpointCount(db: Database) {
  const select = db.prepare<[string, string, number], { count: number; last: string | null }>(
    `SELECT count(*) FILTER (WHERE mode <> 'mcp') AS count, max(id) AS last FROM (
       SELECT id, mode FROM webhook_endpoints INDEXED BY webhook_endpoints_live
       WHERE tenant_id = +? AND id > ? AND deleted_at IS NULL ORDER BY id LIMIT ?)`,
  );
  return (tenantId: string, after: string, limit: number) =>
    select.get(tenantId, after, limit) ?? { count: 0, last: null };
}

export function endpointReads(db: Database) {
  // IDs increase, so that one that replaces another is noticed.
  const selectStamp = db
    .prepare<[string], string>(
      `SELECT count(*) || '-' || ifnull(sum(version), 0) || '-' || ifnull(max(id), '')
       FROM webhook_endpoints INDEXED BY webhook_endpoints_live WHERE tenant_id = +? AND deleted_at IS NULL`,
    )
    .pluck();
  const page = `WHERE tenant_id = :tenantId AND deleted_at IS NULL AND mode <> 'mcp' AND (created_at, id) > (:createdAt, :id)
     ORDER BY created_at, id LIMIT :limit`;
  const selectSizes = db.prepare<
    [{ tenantId: string } & CreationPage],
    { createdAt: number; id: string; bytes: number }
  >(
    `SELECT created_at AS createdAt, id, octet_length(settings) + octet_length(headers) AS bytes FROM webhook_endpoints ${page}`,
  );
  const selectPage = LISTED.select<[{ tenantId: string } & CreationPage]>(db, page);
  const selectOne = ENDPOINTS.select<[string, string]>(
    db,
    "WHERE id = ? AND tenant_id = ? AND deleted_at IS NULL AND mode <> 'mcp'",
  );

  return {
    endpointStamp: (tenantId) => selectStamp.get(tenantId) ?? '',
    /** A part of the page: as many as are read at once. */
    pageEndpoints(tenantId, page) {
      const place = creationPage(page);
      const { rows, last } = pageByBytes(page, selectSizes.all({ tenantId, ...place }));
      return { rows: selectPage.all({ tenantId, ...place, limit: rows.length }), last };
    },
    getEndpoint: (tenantId, id) => selectOne.get(id, tenantId),
  } satisfies Part<EndpointStore>;
}

/**
 * The size of the cache of prepared settings, in bytes of their JSON: about ten thousand endpoints, or 70 with the
 * largest format.
 */
const MAX_CACHED_BYTES = 32 * 1024 * 1024;

interface CachedReceiver {
  version: number;
  bytes: number;
  receiver: Receiver;
}

/**
 * Endpoints prepared for routing, cached per version: reading and parsing nine formats of 250 KB took 10 ms per post.
 * The least recently used ones are evicted.
 */
export function receiverReads(db: Database) {
  const selectVersions = db.prepare<[string, string, number], { id: string; version: number }>(
    `SELECT id, version FROM webhook_endpoints INDEXED BY webhook_endpoints_live
     WHERE tenant_id = +? AND id > ? AND deleted_at IS NULL ORDER BY id LIMIT ?`,
  );
  const selectOne = db.prepare<[string], { mode: EndpointMode; settings: string }>(
    'SELECT mode, settings FROM webhook_endpoints WHERE id = ?',
  );
  const selectBytes = db
    .prepare<[string], number>('SELECT octet_length(settings) FROM webhook_endpoints WHERE id = ?')
    .pluck();
  const selectRevision = db
    .prepare<[string], string>('SELECT CAST(revision AS TEXT) FROM tenants WHERE id = ?')
    .pluck();
  /** By endpoint, least recently used first. */
  const cache = new Map<string, CachedReceiver>();
  let cachedBytes = 0;

  function forget(id: string): void {
    cachedBytes -= cache.get(id)?.bytes ?? 0;
    cache.delete(id);
  }

  function read(id: string, version: number): CachedReceiver {
    const { mode = 'push', settings: text = '{}' } = selectOne.get(id) ?? {};
    const settings = JSON.parse(text) as WebhookInput;
    const shape = settings.payload_format === null ? null : shapeOf(settings.payload_format);
    return { version, bytes: text.length, receiver: { id, mode, settings, shape } };
  }

  function current({ id, version }: { id: string; version: number }): Receiver {
    const known = cache.get(id);
    const cached = known?.version === version ? known : read(id, version);
    forget(id);
    cache.set(id, cached);
    cachedBytes += cached.bytes;
    return cached.receiver;
  }

  return {
    receiverStamp: (tenantId) => selectRevision.get(tenantId) ?? '',
    pageReceivers(tenantId, { limit, after }) {
      const found = selectVersions.all(tenantId, String(after?.[0] ?? ''), lookedAt(limit) + 1);
      const page = pageOfUncached(found, limit, ({ id, version }) =>
        cache.get(id)?.version === version ? 0 : (selectBytes.get(id) ?? 1),
      );
      const rows = page.rows.map(current);
      for (const id of cache.keys()) {
        if (cachedBytes <= MAX_CACHED_BYTES) break;
        forget(id);
      }
      return { ...page, rows };
    },
  } satisfies Part<EndpointStore>;
}

export const SUBSCRIPTIONS = new Table<McpSubscription>('mcp_subscriptions', {
  id: 'plain',
  tenantId: 'plain',
  keyId: 'plain',
  endpointId: 'plain',
  name: 'plain',
  expiresAt: 'plain',
  createdAt: 'plain',
});

/** The area of the scope that subscribers of an event need; `:write` includes `:read`. */
const SCOPE_AREAS = Object.entries(MCP_EVENT_SCOPES)
  .map(([name, scope]) => `WHEN '${name}' THEN '${scope.split(':')[0]}'`)
  .join(' ');

/** Subscriptions `s` that are over because of their time, their key `k`, its scope, or their endpoint `e`. */
export const ENDED_SUBSCRIPTIONS = `mcp_subscriptions s
    LEFT JOIN api_keys k ON k.id = s.key_id LEFT JOIN webhook_endpoints e ON e.id = s.endpoint_id
  WHERE (s.expires_at <= :now OR (k.id IS NULL AND substr(s.key_id, 1, 4) <> 'tok_')
    OR k.revoked_at IS NOT NULL OR k.expires_at <= :now
    OR k.scopes NOT LIKE '%"' || (CASE s.name ${SCOPE_AREAS} END) || ':%'
    OR e.id IS NULL OR e.deleted_at IS NOT NULL OR e.paused_reason = 'gone')`;

export function subscriptionReads(db: Database) {
  const select = SUBSCRIPTIONS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  const selectEndpoint = ENDPOINTS.select<[string]>(db, 'WHERE id = ? AND deleted_at IS NULL');
  const selectEnded = db
    .prepare<{ tenantId: string; now: number }, string>(
      `SELECT s.endpoint_id FROM ${ENDED_SUBSCRIPTIONS} AND s.tenant_id = :tenantId`,
    )
    .pluck();

  return {
    findSubscription(tenantId, id) {
      const subscription = select.get(id, tenantId);
      const endpoint = subscription && selectEndpoint.get(subscription.endpointId);
      return subscription === null || endpoint === null ? null : { subscription, endpoint };
    },
    listEndedSubscriptions: (tenantId, now) => selectEnded.all({ tenantId, now }),
  } satisfies Part<SubscriptionStore>;
}

const NOTICES = new Table<EndpointNotice>('endpoint_notices', {
  ...{ id: 'plain', tenantId: 'plain', type: 'plain', endpointId: 'plain', facts: 'json' },
});

export function noticeReads(db: Database) {
  const selectOldest = NOTICES.select<[string, number]>(db, 'WHERE tenant_id = ? ORDER BY id LIMIT ?');
  // From tenant to tenant in the index: DISTINCT would read all of their rows.
  const selectTenants = db
    .prepare<[], string>(
      `WITH RECURSIVE waiting (tenant) AS (
         SELECT min(tenant_id) FROM endpoint_notices
         UNION ALL
         SELECT (SELECT min(tenant_id) FROM endpoint_notices WHERE tenant_id > tenant) FROM waiting WHERE tenant IS NOT NULL
       )
       SELECT tenant FROM waiting WHERE tenant IS NOT NULL`,
    )
    .pluck();
  return {
    listNoticeTenants: () => selectTenants.all(),
    listNotices: (tenantId, limit) => selectOldest.all(tenantId, limit),
  } satisfies Part<NoticeStore>;
}

export function restReads(db: Database) {
  const select = db.prepare<[number], EventRemainder>(
    'SELECT tenant_id AS tenantId, event_id AS eventId, part FROM event_remainders ORDER BY event_id, part LIMIT ?',
  );
  return { listRemainders: (limit) => select.all(limit) } satisfies Part<
    Pick<RemainderStore, 'listRemainders'>
  >;
}

export function backfillReads(db: Database) {
  const select = db.prepare<[number], Backfill>(
    `SELECT id AS endpointId, tenant_id AS tenantId, backfill_from AS "from", created_at AS until,
            backfill_position AS position
     FROM webhook_endpoints INDEXED BY webhook_endpoints_backfilled
     WHERE backfill_from IS NOT NULL AND deleted_at IS NULL ORDER BY created_at LIMIT ?`,
  );
  return { listBackfills: (limit) => select.all(limit) } satisfies Part<BackfillStore>;
}
