import type { Departed } from '../../changes/processes.ts';
import type { Changes } from '../../changes.ts';
import type { DeliveryStore } from '../../delivery-store.ts';
import type { SourceStore } from '../../source-store.ts';
import type { Signs } from './keyed-requests.ts';
import type { Promised } from './promised.ts';

type Face = Pick<DeliveryStore, 'recoverDeliveries' | 'hasDeparted'> &
  Pick<SourceStore, 'recoverSources' | 'claimSources'>;

export interface RecoveryParts {
  changes: Pick<Promised<Changes>, 'endLaneLeases' | 'endSourceLeases' | 'leaseSources'>;
  reads: { listProcesses(): Promise<string[]> } & Pick<DeliveryStore, 'listDueLanes'>;
  signs: () => Signs;
}

/** What dead processes held. A process that lives keeps its leases, so that two on one file never send the same. */
export function recoveryFace({ changes, reads, signs }: RecoveryParts): Face {
  /** Null where there is nothing to end. */
  async function departed(own: boolean): Promise<Departed | null> {
    const { name, isAlive } = signs();
    const dead = (await reads.listProcesses()).filter((process) => !isAlive(process));
    return own || dead.length > 0 ? { process: name, own, dead } : null;
  }

  return {
    hasDeparted: async () => (await departed(false)) !== null,
    async recoverDeliveries({ own }) {
      const gone = await departed(own);
      if (gone !== null) await changes.endLaneLeases(gone);
      return reads.listDueLanes();
    },
    async recoverSources({ own, now }) {
      const gone = await departed(own);
      return gone === null ? [] : changes.endSourceLeases({ ...gone, now });
    },
    claimSources: (claim) => changes.leaseSources({ ...claim, process: signs().name }),
  };
}
