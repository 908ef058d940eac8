import { START_POSITION } from '../../model/constants.ts';
import type { Source, SourcePosition } from '../../model/source.ts';
import { sourceNameKey } from '../../rules/words.ts';
import type { Asks, Script, Scripts } from '../script.ts';
import type { CommittedSignal, NewSignal } from '../signal-store.ts';
import type { ClaimedSource, SourceClaim, SourceStore } from '../source-store.ts';
import { createMailWriter, type MailStatements } from './mail.ts';
import type { SignalChanges } from './signals.ts';

/** A source with the position at which reading continues. */
type SourceWithPosition = Source & { position: SourcePosition };
/** With the normalized name, which is unique per tenant. */
export type StoredSource = SourceWithPosition & { nameKey: string };

export interface SourceStatements extends MailStatements {
  sources: {
    update(source: StoredSource): boolean;
    /** Reading starts from the beginning. */
    restart(source: StoredSource): void;
    /** Ends its runs, and removes it from everything but the rows that refer to it; frees its name. */
    retire(row: Record<string, unknown>): boolean;
    selectRetired(): string | undefined;
    /** Removes up to `limit` links to signals; returns their number. */
    unlinkSignals(sourceId: string, limit: number): number;
    remove(id: string): void;
    selectNamed(tenantId: string, nameKey: string): string | undefined;
    count(tenantId: string): number | undefined;
    askRun(row: Record<string, unknown>): boolean;
    insert(source: StoredSource): boolean;
    lease(row: Record<string, unknown>): boolean;
    putOff(row: Record<string, unknown>): void;
    countSignals(more: number, sourceId: string): void;
    selectHeld(sourceId: string, token: string): number | undefined;
    finishRun(row: Record<string, unknown>): void;
    replan(row: Record<string, unknown>): number;
    insertRun(row: Record<string, unknown>): void;
    pruneRuns(row: Record<string, unknown>): void;
    linkSignal(id: string, sourceId: string): void;
    holdHost(row: Record<string, unknown>): void;
    pruneHolds(before: number, limit: number): number;
    selectById(id: string): SourceWithPosition | null;
  };
}

function newRow(source: Source): StoredSource {
  return { ...source, nameKey: sourceNameKey(source.name), position: START_POSITION };
}

/** Changes to sources by callers; runs are below. */
export function sourceChanges(ask: Asks<SourceStatements>) {
  const holderOf = ({ tenantId, name }: Source) => ask.sources.selectNamed(tenantId, sourceNameKey(name));

  return {
    *createSource(source, limit) {
      if ((yield* holderOf(source)) !== undefined) return 'name_taken';
      if (((yield* ask.sources.count(source.tenantId)) ?? 0) >= limit) return 'full';
      yield* ask.sources.insert(newRow(source));
      return 'created';
    },
    *changeSource(source, restarts) {
      const holder = yield* holderOf(source);
      if (holder !== undefined && holder !== source.id) return 'name_taken';
      const stored = newRow(source);
      if (!(yield* ask.sources.update(stored))) return 'stale';
      if (restarts) yield* ask.sources.restart(stored);
      return 'changed';
    },
    deleteSource: (tenantId, id, version) => ask.sources.retire({ tenantId, id, version: version ?? null }),
    *pruneSources(limit) {
      const id = yield* ask.sources.selectRetired();
      if (id === undefined) return false;
      if ((yield* ask.sources.unlinkSignals(id, limit)) < limit) yield* ask.sources.remove(id);
      return true;
    },
    runSource: (tenantId, id, now) => ask.sources.askRun({ tenantId, id, now }),
  } satisfies Scripts<SourceStore>;
}

/** Claims and runs of sources. */
export function sourceRunChanges(
  ask: Asks<SourceStatements>,
  { commitSignals }: Pick<SignalChanges, 'commitSignals'>,
) {
  const addMail = createMailWriter(ask);

  function* commitOf(sourceId: string, signals: NewSignal[]): Script<CommittedSignal[]> {
    const committed = yield* commitSignals(signals);
    for (const { id, status } of committed)
      if (status === 'created') yield* ask.sources.linkSignal(id, sourceId);
    return committed;
  }

  return {
    *leaseSources({
      now,
      leaseUntil,
      ids,
      token,
      process,
    }: SourceClaim & { process: string }): Script<ClaimedSource[]> {
      const claimed: ClaimedSource[] = [];
      for (const id of ids) {
        if (!(yield* ask.sources.lease({ id, token, leaseUntil, now, process }))) continue;
        const row = yield* ask.sources.selectById(id);
        if (row === null) continue;
        const { position, ...source } = row;
        claimed.push({ source, position, token });
      }
      return claimed;
    },
    *finishSourceRun({ signals, error, position, quota, mail, signalsAdded, ...run }) {
      if ((yield* ask.sources.selectHeld(run.sourceId, run.token)) === undefined) return null;
      const committed = yield* commitOf(run.sourceId, signals);
      const columns = {
        ...run,
        error: error && JSON.stringify(error),
        position: position && JSON.stringify(position),
        quota: quota && JSON.stringify(quota),
        signalsMade: committed.filter(({ status }) => status === 'created').length,
      };
      yield* ask.sources.finishRun(columns);
      yield* ask.sources.insertRun({ ...columns, signalsMade: columns.signalsMade + signalsAdded });
      yield* ask.sources.pruneRuns({ sourceId: run.sourceId });
      if (mail !== null) yield* addMail(mail);
      return committed;
    },
    holdHost: (held) => ask.sources.holdHost({ ...held }),
    pruneHolds: (before, limit) => ask.sources.pruneHolds(before, limit),
    putOffSource: ({ sourceId, token, claimedPollAt }, until) =>
      ask.sources.putOff({ sourceId, token, claimedPollAt, until }),
    *addRunSignals({ sourceId, token }, signals) {
      if ((yield* ask.sources.selectHeld(sourceId, token)) === undefined) return null;
      const committed = yield* commitOf(sourceId, signals);
      yield* ask.sources.countSignals(
        committed.filter(({ status }) => status === 'created').length,
        sourceId,
      );
      return committed;
    },
    replanSources: (now) => ask.sources.replan({ now }),
  } satisfies Scripts<SourceStore> & Record<'leaseSources', unknown>;
}
