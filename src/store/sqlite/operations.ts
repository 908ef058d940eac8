import type { Database } from 'better-sqlite3';
import type { DeliveryNext, Outcome } from '../../model/delivery.ts';
import type { RoutedEvent } from '../../model/event.ts';
import type { ApiKey } from '../../model/key.ts';
import type { Plan } from '../../model/tenant.ts';
import type { Endpoint } from '../../model/webhook.ts';
import type { ClaimRequest, CommittedSignal, DueLane, LaneClaim, NewSignal, Store } from '../store.ts';
import { createAttemptSql, type StoredAttempt } from './attempts.ts';
import { createDeliverySql } from './deliveries.ts';
import { createEndpointSql } from './endpoints.ts';
import { createEventSql } from './events.ts';
import { createKeySql } from './keys.ts';
import { createLeaseSql } from './leases.ts';
import { createProbeSql } from './probe.ts';
import { createProfileSql } from './profiles.ts';
import { createSignalSql } from './signals.ts';
import { createTenantSql } from './tenants.ts';

/** An outcome with its attempt as the table holds it, so that what crosses to the writer is flat and small. */
export interface StoredOutcome {
  deliveryId: string;
  endpointId: string;
  leaseToken: string;
  attempt: StoredAttempt;
  next: DeliveryNext;
  streak: Outcome['streak'];
}

/**
 * Every change of the database by name: each runs inside a transaction that the writer opened, and takes and returns
 * plain data, so that it can run in another thread.
 */
export function createOperations(db: Database) {
  return { ...accountOperations(db), ...signalOperations(db), ...deliveryOperations(db) };
}

export type Operations = ReturnType<typeof createOperations>;

function accountOperations(db: Database) {
  const tenants = createTenantSql(db);
  const profiles = createProfileSql(db);
  const keys = createKeySql(db);
  const endpoints = createEndpointSql(db);
  const deliveries = createDeliverySql(db);
  const probe = createProbeSql(db);

  return {
    createTenant(change: Parameters<Store['createTenant']>[0]): void {
      tenants.insert(change.tenant);
      tenants.insertOwner(change.owner);
      profiles.insert(change.profile);
      keys.insert(change.key);
    },
    setPlan: (tenantId: string, plan: Plan, trialEndsAt: number | null): boolean =>
      tenants.setPlan(tenantId, plan, trialEndsAt),
    createKey: (key: ApiKey): void => keys.insert(key),
    touchKey: (id: string, now: number): void => keys.touch(id, now),
    revokeKey: (id: string, now: number): boolean => keys.revoke(id, now),
    createEndpoint: (endpoint: Endpoint, limit: number | null): boolean => endpoints.insert(endpoint, limit),
    deleteEndpoint(tenantId: string, id: string, now: number): boolean {
      if (!endpoints.markDeleted(tenantId, id, now)) return false;
      deliveries.discardOf(id);
      return true;
    },
    probe: (now: number): void => probe.write(now),
  };
}

function signalOperations(db: Database) {
  const signals = createSignalSql(db);
  const events = createEventSql(db);
  const deliveries = createDeliverySql(db);

  function insertRouted({ event, deliveries: made, skipped }: RoutedEvent): void {
    events.insert(event);
    for (const delivery of made) deliveries.insert(event, delivery);
    for (const { endpointId, reason } of skipped) events.insertSkip(event.id, endpointId, reason);
  }

  return {
    commitSignals: (changes: NewSignal[]): CommittedSignal[] =>
      changes.map((signal) => {
        const committed = signals.insert(signal);
        if (committed.status === 'created') signal.events.forEach(insertRouted);
        return committed;
      }),
  };
}

function deliveryOperations(db: Database) {
  const leases = createLeaseSql(db);
  const attempts = createAttemptSql(db);
  const endpoints = createEndpointSql(db);

  return {
    recoverDeliveries(now: number): DueLane[] {
      leases.releaseAll(now);
      return leases.lanes();
    },
    claimDeliveries: ({ lanes, ...terms }: ClaimRequest): LaneClaim[] =>
      lanes.map((lane) => {
        const { endpointId, knownVersion } = lane;
        const endpoint = endpoints.changedSince(endpointId, knownVersion);
        if (endpoint === 'gone') return { endpointId, deliveries: [], nextDueAt: null, endpoint };
        return { endpointId, ...leases.claim(lane, terms), endpoint };
      }),
    recordOutcome({ deliveryId, endpointId, leaseToken, attempt, next, streak }: StoredOutcome): boolean {
      attempts.insert(deliveryId, attempt);
      const applied = leases.finish(deliveryId, leaseToken, next);
      if (applied) endpoints.applyStreak(endpointId, streak);
      return applied;
    },
  };
}
