import type { DeliveryStore } from '../../delivery-store.ts';
import type { Context } from '../context.ts';
import { createAttemptSql, toStored } from '../tables/attempts.ts';
import { createDeliverySql } from '../tables/deliveries.ts';
import { createLeaseSql } from '../tables/leases.ts';

export function deliveryMethods({ db, clock, writer, read }: Context) {
  const deliveries = createDeliverySql(db);
  const leases = createLeaseSql(db);
  const attempts = createAttemptSql(db);

  return {
    recoverDeliveries: (now) => writer.run('recoverDeliveries', now),
    listDueLanes: () => read(() => leases.lanes()),
    claimDeliveries: (request) => writer.run('claimDeliveries', request),
    recordOutcome({ deliveryId, endpointId, leaseToken, attempt, next, streak }) {
      const outcome = { deliveryId, endpointId, leaseToken, attempt: toStored(attempt), next, streak };
      return writer.run('recordOutcome', outcome);
    },
    recentAttempts: (since) =>
      read(() => {
        // What was under way when the process died may have reached its receiver just now: counted as sent now.
        const startedAt = clock.now();
        const underWay = leases.leasedEndpoints().map((endpointId) => ({ endpointId, startedAt }));
        return [...attempts.since(since), ...underWay].sort((a, b) => a.startedAt - b.startedAt);
      }),
    getDelivery: (tenantId, id) => read(() => deliveries.get(tenantId, id)),
  } satisfies DeliveryStore;
}
