import type { Clock } from '../lib/clock.ts';
import type { Store } from '../store/store.ts';
import type { Attempts } from './attempt.ts';
import type { DispatcherLog } from './dispatcher.ts';
import { heldBy, type Lane } from './lanes.ts';
import { leaseEnd } from './leases.ts';
import type { Scheduler } from './scheduler.ts';

/** Probes under way at once: a thousand dead endpoints must not take the places of healthy ones. */
const AT_ONCE = 64;

/** Probes paused endpoints with the delivery that has waited longest (contract, section 5, "Pause"). */
export interface Prober {
  /** Sends what is due. Never rejects, and waits for no reply. */
  run(): Promise<void>;
}

export interface ProberParts {
  store: Store;
  clock: Clock;
  attempts: Attempts;
  scheduler: Scheduler;
  leaseToken: string;
  log: DispatcherLog;
}

export function createProber({ store, clock, attempts, scheduler, leaseToken, log }: ProberParts): Prober {
  let underWay = 0;

  async function probe(lane: Lane): Promise<void> {
    const { endpointId } = lane;
    lane.probing = true;
    underWay++;
    try {
      const now = clock.now();
      const terms = { endpointId, held: heldBy(lane), now, leaseUntil: leaseEnd(now), leaseToken };
      const claim = await store.claimProbe(terms);
      if (claim === null) return;
      lane.throttle.setLimit(claim.endpoint.settings.rate_limit_per_minute);
      await scheduler.probe(lane, attempts.prepare(claim.endpoint), claim.delivery);
    } catch (error) {
      log.warn({ err: error, endpointId }, 'an endpoint could not be probed; trying again');
    } finally {
      lane.probing = false;
      underWay--;
    }
  }

  return {
    async run() {
      try {
        for (const { endpointId, tenantId } of await store.listDueProbes(clock.now(), AT_ONCE)) {
          const lane = scheduler.lane(endpointId, tenantId);
          if (underWay < AT_ONCE && !lane.probing) void probe(lane);
        }
      } catch (error) {
        log.warn({ err: error }, 'paused endpoints could not be listed; trying again');
      }
    },
  };
}
