import type { Clock } from '../lib/clock.ts';
import type { Store } from '../store/store.ts';
import type { Agenda } from './agenda.ts';
import type { DispatcherLog } from './dispatcher.ts';
import { Flight, type FlightParts } from './flight.ts';
import type { Lane } from './lane.ts';
import { leaseEnd } from './leases.ts';
import type { PrepareTarget } from './target.ts';

/** Probes under way at once: a thousand dead endpoints must not take the places of healthy ones. */
const AT_ONCE = 64;

/** Probes paused endpoints with the delivery that has waited longest (contract, section 5, "Pause"). */
export interface Prober {
  /** Sends what is due. Never rejects, and waits for no reply. */
  run(): Promise<void>;
  /** Sends nothing more. */
  stop(): void;
}

export interface ProberParts {
  store: Store;
  clock: Clock;
  agenda: Agenda;
  prepare: PrepareTarget;
  flights: FlightParts;
  leaseToken: string;
  log: DispatcherLog;
}

export function createProber(parts: ProberParts): Prober {
  const { store, clock, agenda, leaseToken, log } = parts;
  let underWay = 0;
  let stopped = false;

  async function probe(lane: Lane): Promise<void> {
    const { endpointId } = lane;
    lane.beginProbe();
    underWay++;
    try {
      const now = clock.now();
      const terms = { endpointId, held: lane.held(), now, leaseUntil: leaseEnd(now), leaseToken };
      const claim = await store.claimProbe(terms);
      if (claim === null || stopped) return;
      const { endpoint, delivery } = claim;
      const target = parts.prepare(endpoint);
      if (!lane.departProbe(delivery, endpoint.settings.rate_limit_per_minute, clock.monotonic())) return;
      await new Promise<unknown>((onOver) =>
        new Flight(parts.flights, {
          lane,
          target,
          delivery,
          kind: 'probe',
          standing: 'first',
          onOver,
        }).depart(),
      );
    } catch (error) {
      log.warn({ err: error, endpointId }, 'an endpoint could not be probed; trying again');
    } finally {
      lane.endProbe();
      underWay--;
      agenda.consider(lane);
    }
  }

  return {
    async run() {
      try {
        for (const { endpointId, tenantId } of await store.listDueProbes(clock.now(), AT_ONCE)) {
          const lane = agenda.lane(endpointId, tenantId);
          if (underWay < AT_ONCE && !lane.isProbing) void probe(lane);
        }
      } catch (error) {
        log.warn({ err: error }, 'paused endpoints could not be listed; trying again');
      }
    },
    stop() {
      stopped = true;
    },
  };
}
