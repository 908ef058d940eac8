import type { DeliveryStore, HeldAttempt } from '../../delivery-store.ts';
import type { Context } from '../context.ts';
import { createAttemptSql, toStored } from '../tables/attempts.ts';
import { createDeliverySql } from '../tables/deliveries.ts';
import { createLeaseSql } from '../tables/leases.ts';
import { createProbeScheduleSql } from '../tables/probes.ts';
import { createTestSendSql } from '../tables/test-sends.ts';

export function deliveryMethods({ db, clock, writer, read }: Context) {
  const deliveries = createDeliverySql(db);
  const leases = createLeaseSql(db);
  const attempts = createAttemptSql(db);
  const probes = createProbeScheduleSql(db);
  const testSends = createTestSendSql(db);

  return {
    recoverDeliveries: () => writer.run('recoverDeliveries'),
    listDueLanes: () => read(() => leases.lanes()),
    releaseLeases: (leaseToken) => writer.run('releaseLeases', leaseToken),
    claimDeliveries: ({ lanes, ...terms }) =>
      writer.run('claimDeliveries', {
        lanes: lanes.map((lane) => ({ ...lane, held: heldText(lane.held) })),
        ...terms,
      }),
    recordOutcome: (outcome) =>
      writer.run('recordOutcome', { ...outcome, attempt: toStored(outcome.attempt) }),
    listDueProbes: (now, limit) => read(() => probes.due(now, limit)),
    claimProbe: ({ held, ...terms }) => writer.run('claimProbe', { held: heldText(held), ...terms }),
    shiftDue: (now, deltaMs) => writer.run('shiftDue', now, deltaMs),
    recentAttempts: (since) =>
      read(() => {
        // What was under way when the process died may have reached its receiver just now: counted as sent now.
        const startedAt = clock.now();
        const underWay = leases.held().map(({ endpointId }) => ({ endpointId, startedAt }));
        return [...attempts.since(since), ...testSends.since(since), ...underWay].sort(
          (a, b) => a.startedAt - b.startedAt,
        );
      }),
    getDelivery: (tenantId, id) => read(() => deliveries.get(tenantId, id)),
  } satisfies DeliveryStore;
}

function heldText(held: readonly HeldAttempt[]): string {
  return `{${held.map(({ id, attempt }) => `"${id}":${attempt}`).join(',')}}`;
}
