import type { Database } from 'better-sqlite3';
import type { Chunk, DeliveryLogStore, ReplayRange, ReplayResult } from '../../delivery-log-store.ts';
import { createDeliveryWalk } from '../tables/delivery-walk.ts';
import { createReplaySql } from '../tables/replay.ts';
import { createRetentionSql } from '../tables/retention.ts';
import { createTestSendSql } from '../tables/test-sends.ts';

type Key = (string | number)[] | null;

export function deliveryControlOperations(db: Database) {
  const replays = createReplaySql(db);
  const retention = createRetentionSql(db);
  const testSends = createTestSendSql(db);
  const walk = createDeliveryWalk(db);

  return {
    replayDelivery: (tenantId: string, id: string, now: number): ReplayResult =>
      replays.one(tenantId, id, now),
    replayRange(range: ReplayRange): { replayed: number; next: Key } {
      const { tenantId, endpointId, status, from, to, after, limit, now } = range;
      const { found, next } = walk(
        {
          ...{ tenantId, endpointId, from, to, direction: 'ASC' },
          ...{ statuses: [status], ofEndpoints: null, eventType: null },
        },
        after === null ? null : { created_at: Number(after[0]), id: String(after[1]) },
        { scan: limit, limit },
      );
      const replayed = found.filter(({ id }) => replays.again(id, status, now)).length;
      return { replayed, next: next === null ? null : [next.created_at, next.id] };
    },
    endHeld: (chunk: Parameters<DeliveryLogStore['endHeld']>[0]): number => retention.endHeld(chunk),
    expireDead: ({ now, limit }: Chunk): number => retention.expireDead(now, limit),
    discardOfDeleted: (limit: number): number => retention.discardOfDeleted(limit),
    pruneAttempts: (before: number, limit: number): number => retention.pruneAttempts(before, limit),
    pruneDeliveries: (chunk: Parameters<DeliveryLogStore['pruneDeliveries']>[0]) =>
      retention.pruneDeliveries(chunk),
    pruneEndpoints: (before: number, limit: number): number => retention.pruneEndpoints(before, limit),
    recordTestSend: (send: Parameters<DeliveryLogStore['recordTestSend']>[0]): void => testSends.insert(send),
    pruneTestSends: (before: number): number => testSends.prune(before),
  };
}
