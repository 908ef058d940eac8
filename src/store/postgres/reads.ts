import { concatInTurns } from '../../lib/yielding.ts';
import type { Backlog, FiguresStore } from '../figures.ts';
import type { JobStore, KeptBodyReads, KeyedRequest } from '../request-store.ts';
import type { Connection } from './connection.ts';
import { auditReads, keyReads, sessionReads, teamReads, tenantReads } from './reads/accounts.ts';
import { campaignEventReads, campaignReads } from './reads/campaigns.ts';
import { companyReads, companySignalReads } from './reads/companies.ts';
import { deliveryPageReads, deliveryReads } from './reads/deliveries.ts';
import {
  backfillReads,
  createReceiverCache,
  endpointReads,
  noticeReads,
  receiverReads,
  restReads,
  subscriptionReads,
} from './reads/endpoints.ts';
import { erasureReads } from './reads/erasure.ts';
import { batchReads, eventReads, feedReads } from './reads/events.ts';
import { laneReads } from './reads/lanes.ts';
import { boardReads, leadListReads, leadReads, leadSignalReads } from './reads/leads.ts';
import { digestReads, mailReads } from './reads/mail.ts';
import { profileReads } from './reads/profiles.ts';
import { signalListReads } from './reads/signal-list.ts';
import { signalReads, storedSignalReads } from './reads/signals.ts';
import { sourceReads } from './reads/sources.ts';
import { WAITING } from './sql/claims.ts';
import { row, rows, value } from './sql/prepared.ts';
import { JOBS, OPEN_JOBS } from './tables.ts';

/** Every query by name. `receivers` is the cache shared by several connections. */
export function createReads(db: Connection, receivers = createReceiverCache()) {
  return {
    ...tenantReads(db),
    ...sessionReads(db),
    ...teamReads(db),
    ...auditReads(db),
    ...keyReads(db),
    ...profileReads(db),
    ...signalReads(db),
    ...signalListReads(db),
    ...storedSignalReads(db),
    ...leadReads(db),
    ...leadListReads(db),
    ...boardReads(db),
    ...erasureReads(db),
    ...leadSignalReads(db),
    ...campaignReads(db),
    ...campaignEventReads(db),
    ...companyReads(db),
    ...companySignalReads(db),
    ...endpointReads(db),
    ...receiverReads(db, receivers),
    ...subscriptionReads(db),
    ...noticeReads(db),
    ...backfillReads(db),
    ...restReads(db),
    ...eventReads(db),
    ...feedReads(db),
    ...batchReads(db),
    ...deliveryReads(db),
    ...deliveryPageReads(db),
    ...laneReads(db),
    ...countReads(db),
    ...jobReads(db),
    ...keptBodyReads(db),
    ...mailReads(db),
    ...digestReads(db),
    ...sourceReads(db),
  };
}

function jobReads(db: Connection) {
  const selectOne = JOBS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  // The oldest of each tenant.
  const selectOpen = OPEN_JOBS.select<[number]>(
    db,
    `WHERE id IN (
       SELECT id FROM (SELECT DISTINCT ON (tenant_id) id, created_at FROM jobs WHERE finished_at IS NULL
                       ORDER BY tenant_id, created_at, id) oldest
       ORDER BY created_at LIMIT ?)
     ORDER BY created_at, id`,
  );
  const selectItems = value<[string, number], Buffer>(
    db,
    'SELECT items FROM job_items WHERE job_id = ? AND processed = ?',
  );
  const selectResults = value<Record<string, unknown>[], string>(
    db,
    `SELECT results::text FROM job_results WHERE job_id = :id AND processed = :from::bigint
     UNION ALL
     SELECT results::text FROM jobs WHERE id = :id AND :from::bigint = 0 AND results::text <> '[]' LIMIT 1`,
  );

  return {
    getJob: (tenantId, id) => selectOne.get(id, tenantId),
    readJobResults: async (id, from) => (await selectResults({ id, from })) ?? null,
    listOpenJobs: selectOpen.all,
    readJobItems: async (id, from) => (await selectItems(id, from)) ?? null,
  } satisfies Partial<JobStore>;
}

/**
 * Size of the pieces in which a stored response is read: its bytes arrive as hexadecimal digits, of which 20 MB in one value
 * paused the process for 0.1 s, and several at once for 0.2 s.
 */
const PIECE_BYTES = 65_536;

function keptBodyReads(db: Connection) {
  // OFFSET 0: otherwise, the body would be decompressed for each piece.
  const selectPieces = rows<[string, string, string], { place: number; bytes: Uint8Array }>(
    db,
    `SELECT place, substring(kept.bytes FROM place FOR ${PIECE_BYTES}) AS bytes
     FROM (SELECT convert_to(coalesce(body, ''), 'UTF8') AS bytes FROM idempotency_keys
           WHERE tenant_id = ? AND route = ? AND key = ? OFFSET 0) kept,
       generate_series(1, greatest(1, length(kept.bytes)), ${PIECE_BYTES}) place`,
  );
  return {
    async keptBody({ tenantId, route, key }: KeyedRequest) {
      const pieces = await selectPieces(tenantId, route, key);
      if (pieces.length === 0) return null;
      const inOrder = pieces.sort((a, b) => a.place - b.place).map(({ bytes }) => bytes);
      return concatInTurns(inOrder, { monotonic: () => performance.now() });
    },
  } satisfies KeptBodyReads;
}

interface CountsRow {
  deadLetters: number;
  endpointsPaused: number;
  mailWaiting: number;
  sourcesLate: number;
  sourcesFailing: number;
}

/** Counts over all tenants. */
function countReads(db: Connection) {
  // Waiting deliveries of deleted endpoints are about to be marked as discarded.
  const selectWaiting = rows<[], { state: 'pending' | 'retrying' | 'held'; count: number; oldest: number }>(
    db,
    `SELECT CASE WHEN e.status = 'paused' THEN 'held' ELSE d.status END AS state,
            sum(d.count)::bigint AS count, min(d.oldest) AS oldest
     FROM (SELECT endpoint_id, status, count(*) AS count, min(next_attempt_at) AS oldest
           FROM deliveries WHERE ${WAITING} GROUP BY endpoint_id, status) d
       JOIN webhook_endpoints e ON e.id = d.endpoint_id AND e.deleted_at IS NULL
     GROUP BY 1`,
  );
  // A source that is being read is not due before its lease ends.
  const selectCounts = row<[number], CountsRow>(
    db,
    `SELECT
       (SELECT count(*) FROM deliveries WHERE status = 'dead') AS "deadLetters",
       (SELECT count(*) FROM webhook_endpoints WHERE status = 'paused' AND deleted_at IS NULL) AS "endpointsPaused",
       (SELECT count(*) FROM mail_outbox WHERE next_try_at IS NOT NULL) AS "mailWaiting",
       (SELECT count(*) FROM sources
        WHERE status = 'active' AND greatest(next_poll_at, lease_until) < ?) AS "sourcesLate",
       (SELECT count(*) FROM sources WHERE status = 'active' AND failures > 0) AS "sourcesFailing"`,
  );

  return {
    async countAll(lateBefore) {
      const [found, counts] = await Promise.all([selectWaiting(), selectCounts(lateBefore)]);
      const waiting = { pending: nothing(), retrying: nothing(), held: nothing() };
      for (const { state, count, oldest } of found) waiting[state] = { count, oldestDueAt: oldest };
      return { waiting, ...(counts as CountsRow) };
    },
  } satisfies Partial<FiguresStore>;
}

function nothing(): Backlog {
  return { count: 0, oldestDueAt: null };
}
