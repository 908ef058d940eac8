import type { Database } from 'better-sqlite3';
import type { Clock } from '../../lib/clock.ts';
import type { RoutedEvent } from '../../model/event.ts';
import type { NewSignal, Store } from '../store.ts';
import { createWriteQueue, translateFault } from '../write-queue.ts';
import { attemptDetail, createAttemptSql } from './attempts.ts';
import { createDeliverySql } from './deliveries.ts';
import { createEndpointSql } from './endpoints.ts';
import { createEventSql } from './events.ts';
import { faultOfSqlite } from './faults.ts';
import { createKeySql } from './keys.ts';
import { createLeaseSql } from './leases.ts';
import { createProbeSql } from './probe.ts';
import { createProfileSql } from './profiles.ts';
import { createSignalListSql } from './signal-list.ts';
import { createSignalSql } from './signals.ts';
import { createTenantSql } from './tenants.ts';
import { createTransaction } from './transaction.ts';

const TOUCH_INTERVAL_MS = 60_000;

interface Context {
  sql: ReturnType<typeof createSql>;
  clock: Clock;
  /** Runs in the write queue: resolves after COMMIT. */
  write<T>(operation: () => T): Promise<T>;
  /** Runs at once: SQLite answers synchronously, from what is committed. */
  read<T>(query: () => T): Promise<T>;
}

/** The store on an open, migrated database, which it closes with itself. */
export function createSqliteStore(options: { db: Database; clock: Clock; flushDelayMs?: number }): Store {
  const { db, clock, flushDelayMs } = options;
  const queue = createWriteQueue({
    runBatch: createTransaction(db),
    faultOf: faultOfSqlite,
    clock,
    ...(flushDelayMs === undefined ? {} : { flushDelayMs }),
  });
  const context: Context = {
    sql: createSql(db),
    clock,
    write: queue.run,
    async read(query) {
      try {
        return query();
      } catch (error) {
        throw translateFault(error, faultOfSqlite);
      }
    },
  };

  return {
    ...accountMethods(context),
    ...signalMethods(context),
    ...endpointMethods(context),
    ...deliveryMethods(context),
    async probe() {
      await context.write(() => context.sql.probe.write(clock.now()));
      await context.read(context.sql.probe.read);
    },
    async close() {
      await queue.close();
      db.close();
    },
  };
}

function createSql(db: Database) {
  return {
    tenants: createTenantSql(db),
    keys: createKeySql(db),
    profiles: createProfileSql(db),
    signals: createSignalSql(db),
    listSignals: createSignalListSql(db),
    endpoints: createEndpointSql(db),
    events: createEventSql(db),
    deliveries: createDeliverySql(db),
    leases: createLeaseSql(db),
    attempts: createAttemptSql(db),
    probe: createProbeSql(db),
  };
}

function accountMethods({ sql, write, read }: Context) {
  const touchedAt = new Map<string, number>();

  return {
    createTenant: (change) =>
      write(() => {
        sql.tenants.insert(change.tenant);
        sql.tenants.insertOwner(change.owner);
        sql.profiles.insert(change.profile);
        sql.keys.insert(change.key);
      }),
    listTenants: () => read(() => sql.tenants.list()),
    getTenant: (id) => read(() => sql.tenants.get(id)),
    setPlan: (tenantId, plan, trialEndsAt) => write(() => sql.tenants.setPlan(tenantId, plan, trialEndsAt)),
    createKey: (key) => write(() => sql.keys.insert(key)),
    listKeys: (tenantId) => read(() => sql.keys.list(tenantId)),
    findKey: (hash) => read(() => sql.keys.find(hash)),
    async touchKey(id, now) {
      // Guarded here, before the queue: a key may be used thousands of times a second.
      const last = touchedAt.get(id);
      if (last !== undefined && now >= last && now - last < TOUCH_INTERVAL_MS) return;
      touchedAt.set(id, now);
      try {
        await write(() => sql.keys.touch(id, now));
      } catch (error) {
        touchedAt.delete(id);
        throw error;
      }
    },
    revokeKey: (id, now) => write(() => sql.keys.revoke(id, now)),
  } satisfies Partial<Store>;
}

function signalMethods({ sql, write, read }: Context) {
  const insertRouted = ({ event, deliveries, skipped }: RoutedEvent): void => {
    sql.events.insert(event);
    for (const delivery of deliveries) sql.deliveries.insert(event, delivery);
    for (const { endpointId, reason } of skipped) sql.events.insertSkip(event.id, endpointId, reason);
  };
  const insertSignal = (signal: NewSignal) => {
    const committed = sql.signals.insert(signal);
    if (committed.status === 'created') signal.events.forEach(insertRouted);
    return committed;
  };

  return {
    listProfiles: (tenantId) => read(() => sql.profiles.list(tenantId)),
    commitSignals: (signals) => write(() => signals.map(insertSignal)),
    getSignal: (tenantId, id) => read(() => sql.signals.get(tenantId, id)),
    listSignals: (tenantId, query) =>
      read(() => {
        const profileIds = query.icps.length === 0 ? null : sql.profiles.resolve(tenantId, query.icps);
        return sql.listSignals(tenantId, profileIds, query);
      }),
  } satisfies Partial<Store>;
}

function endpointMethods({ sql, write, read }: Context) {
  return {
    createEndpoint: (endpoint, limit) => write(() => sql.endpoints.insert(endpoint, limit)),
    listEndpoints: (tenantId) => read(() => sql.endpoints.list(tenantId)),
    getEndpoint: (tenantId, id) => read(() => sql.endpoints.get(tenantId, id)),
    deleteEndpoint: (tenantId, id, now) =>
      write(() => {
        if (!sql.endpoints.markDeleted(tenantId, id, now)) return false;
        sql.deliveries.discardOf(id);
        return true;
      }),
  } satisfies Partial<Store>;
}

function deliveryMethods({ sql, clock, write, read }: Context) {
  return {
    recoverDeliveries: (now) =>
      write(() => {
        sql.leases.releaseAll(now);
        return sql.leases.lanes();
      }),
    listDueLanes: () => read(() => sql.leases.lanes()),
    claimDeliveries: ({ lanes, ...terms }) =>
      write(() =>
        lanes.map((lane) => {
          const { endpointId, knownVersion } = lane;
          const endpoint = sql.endpoints.changedSince(endpointId, knownVersion);
          if (endpoint === 'gone') return { endpointId, deliveries: [], nextDueAt: null, endpoint };
          return { endpointId, ...sql.leases.claim(lane, terms), endpoint };
        }),
      ),
    recordOutcome(outcome) {
      const { deliveryId, endpointId, leaseToken, attempt, next, streak } = outcome;
      const detail = attemptDetail(attempt);
      return write(() => {
        sql.attempts.insert(deliveryId, attempt, detail);
        const applied = sql.leases.finish(deliveryId, leaseToken, next);
        if (applied) sql.endpoints.applyStreak(endpointId, streak);
        return applied;
      });
    },
    recentAttempts: (since) =>
      read(() => {
        // What was under way when the process died may have reached its receiver just now: counted as sent now.
        const startedAt = clock.now();
        const underWay = sql.leases.leasedEndpoints().map((endpointId) => ({ endpointId, startedAt }));
        return [...sql.attempts.since(since), ...underWay].sort((a, b) => a.startedAt - b.startedAt);
      }),
    getDelivery: (tenantId, id) => read(() => sql.deliveries.get(tenantId, id)),
  } satisfies Partial<Store>;
}
