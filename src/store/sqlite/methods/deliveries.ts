import { letGo } from '../../../lib/own-bytes.ts';
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import type { DeliveryStore, HeldAttempt } from '../../delivery-store.ts';
import type { Context } from '../context.ts';
import { createAttemptSql, toStored } from '../tables/attempts.ts';
import { createDeliverySql } from '../tables/deliveries.ts';
import { createLeaseSql, type StoredDeliveries } from '../tables/leases.ts';
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
    async claimDeliveries({ lanes, ...terms }) {
      const stored = lanes.map((lane) => ({ ...lane, held: heldText(lane.held) }));
      const claims = await writer.run('claimDeliveries', { lanes: stored, ...terms });
      return claims.map(({ deliveries, ...claim }) => ({
        ...claim,
        deliveries: toClaimed(deliveries),
        release: () => (deliveries === null ? undefined : letGo(deliveries.bodies)),
      }));
    },
    recordOutcome(outcome) {
      const attempt = toStored(outcome.attempt);
      const { deliveryId, streak, next, probe } = outcome;
      if (next.status !== 'delivered' || streak !== 'keep' || probe) {
        return writer.run('recordOutcome', { ...outcome, attempt });
      }
      const { id, attempt: number, startedAt, durationMs, detail } = attempt;
      return writer.run('recordDelivered', deliveryId, id, number, startedAt, durationMs, detail);
    },
    listDueProbes: (now, limit) => read(() => probes.due(now, limit)),
    async claimProbe({ held, ...terms }) {
      const probe = await writer.run('claimProbe', { held: heldText(held), ...terms });
      const [delivery] = toClaimed(probe?.delivery ?? null);
      return probe === null || delivery === undefined ? null : { endpoint: probe.endpoint, delivery };
    },
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

function toClaimed(stored: StoredDeliveries | null): ClaimedDelivery[] {
  if (stored === null) return [];
  const { buffer, byteOffset, byteLength } = stored.bodies;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  const list = JSON.parse(stored.list) as (string | number)[];
  const deliveries: ClaimedDelivery[] = [];
  let start = 0;
  for (let i = 0; i < list.length; i += 4) {
    const end = start + (list[i + 3] as number);
    const [attempt, attemptsInCycle] = [list[i + 1] as number, list[i + 2] as number];
    deliveries.push({ id: list[i] as string, attempt, attemptsInCycle, bytes, start, end });
    start = end;
  }
  return deliveries;
}
