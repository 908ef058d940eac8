import type { Database } from 'better-sqlite3';
import type { Clock } from '../../lib/clock.ts';
import type { Store } from '../store.ts';
import { translateFault } from '../write-queue.ts';
import { createAttemptSql, toStored } from './attempts.ts';
import { createDeliverySql } from './deliveries.ts';
import { createEndpointSql } from './endpoints.ts';
import { faultOfSqlite } from './faults.ts';
import { createKeySql } from './keys.ts';
import { createLeaseSql } from './leases.ts';
import { createProbeSql } from './probe.ts';
import { createProfileSql } from './profiles.ts';
import { createSignalListSql } from './signal-list.ts';
import { createSignalSql } from './signals.ts';
import { createTenantSql } from './tenants.ts';
import type { Writer } from './writer.ts';

const TOUCH_INTERVAL_MS = 60_000;

interface Context {
  sql: ReturnType<typeof createReadSql>;
  clock: Clock;
  /** Changes resolve after COMMIT. */
  writer: Writer;
  /** Runs at once: SQLite answers synchronously, from what is committed. */
  read<T>(query: () => T): Promise<T>;
}

/** The store on an open, migrated database, which it closes with itself and its writer. */
export function createSqliteStore(options: { db: Database; clock: Clock; writer: Writer }): Store {
  const { db, clock, writer } = options;
  const context: Context = {
    sql: createReadSql(db),
    clock,
    writer,
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
      await writer.run('probe', clock.now());
      await context.read(context.sql.probe.read);
    },
    async close() {
      await writer.close();
      db.close();
    },
  };
}

function createReadSql(db: Database) {
  return {
    tenants: createTenantSql(db),
    keys: createKeySql(db),
    profiles: createProfileSql(db),
    signals: createSignalSql(db),
    listSignals: createSignalListSql(db),
    endpoints: createEndpointSql(db),
    deliveries: createDeliverySql(db),
    leases: createLeaseSql(db),
    attempts: createAttemptSql(db),
    probe: createProbeSql(db),
  };
}

function accountMethods({ sql, writer, read }: Context) {
  const touchedAt = new Map<string, number>();

  return {
    createTenant: (change) => writer.run('createTenant', change),
    listTenants: () => read(() => sql.tenants.list()),
    getTenant: (id) => read(() => sql.tenants.get(id)),
    setPlan: (tenantId, plan, trialEndsAt) => writer.run('setPlan', tenantId, plan, trialEndsAt),
    createKey: (key) => writer.run('createKey', key),
    listKeys: (tenantId) => read(() => sql.keys.list(tenantId)),
    findKey: (hash) => read(() => sql.keys.find(hash)),
    async touchKey(id, now) {
      // Guarded here, before the queue: a key may be used thousands of times a second.
      const last = touchedAt.get(id);
      if (last !== undefined && now >= last && now - last < TOUCH_INTERVAL_MS) return;
      touchedAt.set(id, now);
      try {
        await writer.run('touchKey', id, now);
      } catch (error) {
        touchedAt.delete(id);
        throw error;
      }
    },
    revokeKey: (id, now) => writer.run('revokeKey', id, now),
  } satisfies Partial<Store>;
}

function signalMethods({ sql, writer, read }: Context) {
  return {
    listProfiles: (tenantId) => read(() => sql.profiles.list(tenantId)),
    commitSignals: (signals) => writer.run('commitSignals', signals),
    getSignal: (tenantId, id) => read(() => sql.signals.get(tenantId, id)),
    listSignals: (tenantId, query) =>
      read(() => {
        const profileIds = query.icps.length === 0 ? null : sql.profiles.resolve(tenantId, query.icps);
        return sql.listSignals(tenantId, profileIds, query);
      }),
  } satisfies Partial<Store>;
}

function endpointMethods({ sql, writer, read }: Context) {
  return {
    createEndpoint: (endpoint, limit) => writer.run('createEndpoint', endpoint, limit),
    listEndpoints: (tenantId) => read(() => sql.endpoints.list(tenantId)),
    getEndpoint: (tenantId, id) => read(() => sql.endpoints.get(tenantId, id)),
    deleteEndpoint: (tenantId, id, now) => writer.run('deleteEndpoint', tenantId, id, now),
  } satisfies Partial<Store>;
}

function deliveryMethods({ sql, clock, writer, read }: Context) {
  return {
    recoverDeliveries: (now) => writer.run('recoverDeliveries', now),
    listDueLanes: () => read(() => sql.leases.lanes()),
    claimDeliveries: (request) => writer.run('claimDeliveries', request),
    recordOutcome({ deliveryId, endpointId, leaseToken, attempt, next, streak }) {
      const outcome = { deliveryId, endpointId, leaseToken, attempt: toStored(attempt), next, streak };
      return writer.run('recordOutcome', outcome);
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
