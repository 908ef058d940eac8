import { AsyncLocalStorage } from 'node:async_hooks';
import type { Database } from 'better-sqlite3';
import type { Clock } from '../../lib/clock.ts';
import type { AuditActor } from '../../model/audit.ts';
import { isAudited } from '../audited.ts';
import { type Doer, toldName } from '../changes/requests.ts';
import { type Changes, createChanges, type StoreStatements } from '../changes.ts';
import { translateFault } from '../commit-batch.ts';
import { createMadeDueFeed } from '../made-due.ts';
import { ALONE, createPresence } from '../presence.ts';
import type { Asks } from '../script.ts';
import type { OpenedStore } from '../store.ts';
import { changeIn, ownerOf } from '../weights.ts';
import type { CountsThread } from './counts-thread.ts';
import { claimFace, inHandFace, outcomeFace, recoveryFace } from './face/deliveries.ts';
import { keepingFace, keyedRequestFace } from './face/keyed-requests.ts';
import { deliveryPageFace, eventPageFace } from './face/pages.ts';
import { call, promised, type Run } from './face/promised.ts';
import { createStoredWaits } from './face/stored-waits.ts';
import { faultOfSqlite } from './faults.ts';
import { fileSizes } from './file-sizes.ts';
import { schemaVersion } from './migrate.ts';
import { createCounts } from './reads/counts.ts';
import { createNewestStored } from './reads/events.ts';
import { createReads } from './reads.ts';
import { isLongSearch, type SearchThread } from './search-thread.ts';
import type { Writer } from './writer.ts';

export interface SqliteStoreParts {
  db: Database;
  clock: Clock;
  writer: Writer;
  /** Counts beside the server's own thread; null: on it. */
  countsThread: CountsThread | null;
  /** Searches beside the server's own thread; null: on it. */
  searchThread: SearchThread | null;
}

/**
 * The store on an open, migrated database, which it closes with itself and its writer. Its methods are made: each read is
 * answered from what is committed, each change goes to the writer by name. The few that take several steps are in `face/`.
 */
export function createSqliteStore(options: SqliteStoreParts): OpenedStore {
  const { db, clock, writer, countsThread, searchThread } = options;
  const reads = createReads(db);
  const version = schemaVersion(db);
  const acting = new AsyncLocalStorage<AuditActor | null>();

  /** Whose doing a change is that is asked for now; null where the audit list is told nothing of it. */
  function doerOf(name: string): Doer | null {
    const actor = acting.getStore() ?? null;
    return actor === null || !isAudited(toldName(name)) ? null : { ...actor, at: clock.now() };
  }

  const run: Run<Changes> = (name, args) => {
    const by = doerOf(name);
    const stored = writer.run(by === null ? [name, args] : ['makeDone', [{ ...by, name, args }]]);
    return stored as Promise<ReturnType<Changes[typeof name]>>;
  };
  // Only the names are used: the changes run where the writer is.
  const changes = promised(createChanges({} as Asks<StoreStatements>) as unknown as Changes, run);

  async function read<T>(query: () => T): Promise<T> {
    try {
      return query();
    } catch (error) {
      throw translateFault(error, faultOfSqlite);
    }
  }

  const { untilStored, ...waits } = createStoredWaits(clock, createNewestStored(db));
  const madeDue = createMadeDueFeed();
  writer.onCommit((batch, { values, failed }) => {
    waits.committed(batch.map(ownerOf));
    madeDue.publish(batch.map(changeIn), values, failed);
  });
  const countAll = createCounts(db);
  const presence = db.memory ? ALONE : createPresence(clock, changes);
  const asked = promised(reads, (name, args) => read(() => call(reads, name, args)));
  const store: OpenedStore = {
    ...asked,
    async listSignals(tenantId, query) {
      const found = isLongSearch(query) ? await searchThread?.listSignals(tenantId, query) : null;
      return found ?? (await asked.listSignals(tenantId, query));
    },
    ...changes,
    ...claimFace(changes, presence),
    ...inHandFace(changes, presence, madeDue.publish),
    ...recoveryFace({ changes, reads: asked, presence, clock }),
    ...outcomeFace(changes),
    ...deliveryPageFace(db, read),
    ...eventPageFace(db, clock, read),
    untilStored,
    ...keyedRequestFace(changes, presence),
    keeping: (held, item = '') => keepingFace(store, changes, { held, item, doerOf }),
    onCommitted: madeDue.listen,
    as: (actor, work) => acting.run(actor, work),
    async probe() {
      await changes.writeProbe(clock.now());
      await read(reads.readProbe);
    },
    countAll: countsThread?.countAll ?? ((lateBefore) => read(() => countAll(lateBefore))),
    waitMs: writer.waitMs,
    pulse: () => ({
      schemaVersion: version,
      ...writer.pulse(),
      ...(db.memory ? NO_FILES : fileSizes(db.name)),
    }),
    async close() {
      waits.close();
      await Promise.all([presence.end(), writer.close()]); // nothing is taken between its last word and the end
      await countsThread?.close();
      await searchThread?.close();
      db.close();
    },
  };
  return store;
}

const NO_FILES = { databaseBytes: 0, walBytes: 0, freeBytes: null };
