import { standInLine } from '../lib/yielding.ts';
import type { DeliveryStore, DueProbe } from './delivery-store.ts';

export interface DueProbeRow extends DueProbe {
  /** When it is due, Unix milliseconds. */
  at: number;
  /** Whether it has waiting deliveries. */
  waits: boolean | number;
}

/** The place in the order of due probes after which a list continues. */
export type ProbePlace = Pick<DueProbeRow, 'at' | 'endpointId'>;

export interface DueProbeReads {
  /** Due probes after a place, longest due first, except those of some tenants, whether or not deliveries wait. */
  dueProbesAfter(
    after: ProbePlace,
    now: number,
    exceptTenants: readonly string[],
    limit: number,
  ): Promise<DueProbeRow[]>;
}

const FIRST: ProbePlace = { at: Number.MIN_SAFE_INTEGER, endpointId: '' };
/** Each takes 4 us: endpoints that nothing waits for stay due, and an account may have ten thousand. */
const AT_ONCE = 1_000;

/** Lists due probes in parts, between which other tasks run. */
export function createDueProbes(reads: DueProbeReads): DeliveryStore['listDueProbes'] {
  return async (now, limit, exceptTenants = []) => {
    const due: DueProbe[] = [];
    for (let after = FIRST; ; ) {
      const some = await reads.dueProbesAfter(after, now, exceptTenants, AT_ONCE);
      for (const { endpointId, tenantId, waits } of some) if (waits) due.push({ endpointId, tenantId });
      const last = some.at(-1);
      if (last === undefined || some.length < AT_ONCE || due.length >= limit) return due.slice(0, limit);
      after = last;
      await standInLine();
    }
  };
}
