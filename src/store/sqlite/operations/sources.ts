import type { Database } from 'better-sqlite3';
import type { Source } from '../../../model/source.ts';
import type { CommittedSignal } from '../../signal-store.ts';
import type { ClaimedSource, SourceClaim, SourceRun } from '../../source-store.ts';
import { createSourceRunSql } from '../tables/source-runs.ts';
import { createSourceSql } from '../tables/sources.ts';
import { signalOperations } from './signals.ts';

export function sourceOperations(db: Database) {
  const sources = createSourceSql(db);
  const runs = createSourceRunSql(db);
  const { commitSignals } = signalOperations(db);

  return {
    createSource(source: Source, limit: number): 'created' | 'name_taken' | 'full' {
      if (sources.named(source.tenantId, source.name) !== null) return 'name_taken';
      if (sources.count(source.tenantId) >= limit) return 'full';
      sources.insert(source);
      return 'created';
    },
    changeSource(source: Source, restart: boolean): 'changed' | 'name_taken' | 'stale' {
      const holder = sources.named(source.tenantId, source.name);
      if (holder !== null && holder !== source.id) return 'name_taken';
      if (!sources.update(source)) return 'stale';
      if (restart) sources.restart(source);
      return 'changed';
    },
    deleteSource: (tenantId: string, id: string): boolean => sources.remove(tenantId, id),
    runSource: (tenantId: string, id: string, now: number): boolean => runs.ask(tenantId, id, now),
    claimSources: (claim: SourceClaim): ClaimedSource[] =>
      runs.claim(claim).flatMap((id) => {
        const claimed = sources.claimed(id);
        return claimed === null ? [] : [{ ...claimed, token: claim.token }];
      }),
    finishSourceRun(run: SourceRun): CommittedSignal[] | null {
      if (!runs.isHeld(run.sourceId, run.token)) return null;
      const committed = commitSignals(run.signals);
      runs.finish(run, committed.filter(({ status }) => status === 'created').length);
      return committed;
    },
    recoverSources: (): void => runs.endLeases(),
  };
}
