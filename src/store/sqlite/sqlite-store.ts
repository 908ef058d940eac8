import type { Database } from 'better-sqlite3';
import type { Clock } from '../../lib/clock.ts';
import { isTurnLong, standInLine } from '../../lib/yielding.ts';
import { translateFault } from '../commit-batch.ts';
import { createDueProbes } from '../due-probes.ts';
import { createDueSources } from '../due-sources.ts';
import { createMethods } from '../methods.ts';
import {
  createEndpointList,
  createProfileList,
  createReceiverList,
  listCampaignsInParts,
  pageEndpointsInParts,
  pageProfilesInParts,
  pageSourcesInParts,
} from '../paged-list.ts';
import { ALONE, createPresence } from '../presence.ts';
import { createRecentAttempts } from '../recent-attempts.ts';
import { refuseDamage, type StorageWatch } from '../storage-watch.ts';
import type { OpenedStore } from '../store.ts';
import { createStoredWaits } from '../stored-waits.ts';
import { createTurns } from '../turns.ts';
import { ownerOf } from '../weights.ts';
import type { Writer } from '../writer.ts';
import type { CountsThread } from './counts-thread.ts';
import { createFileCheck, faultOfSqlite, fileSizes } from './database.ts';
import { companyPageFace, deliveryPageFace, eventPageFace, leadPageFace } from './face/pages.ts';
import {
  batchFace,
  boardFace,
  companySignalFace,
  digestFace,
  dueMailFace,
  endpointCountFace,
  flowFace,
  personSignalFace,
  postFace,
  signalDayFace,
} from './face/scans.ts';
import { schemaVersion } from './migrate.ts';
import { auditReads, keyReads, sessionReads, teamReads, tenantReads } from './reads/accounts.ts';
import { campaignEventReads, campaignReads } from './reads/campaigns.ts';
import { companyReads } from './reads/companies.ts';
import { createCounts, storageReads } from './reads/counts.ts';
import { deliveryReads } from './reads/deliveries.ts';
import {
  backfillReads,
  endpointReads,
  noticeReads,
  receiverReads,
  restReads,
  subscriptionReads,
} from './reads/endpoints.ts';
import { erasureReads } from './reads/erasure.ts';
import { batchReads, createNewestStored, feedReads } from './reads/events.ts';
import { laneReads } from './reads/lanes.ts';
import { leadSignalReads } from './reads/lead-signals.ts';
import { leadReads } from './reads/leads.ts';
import { digestReads, mailReads } from './reads/mail.ts';
import { profileReads } from './reads/profiles.ts';
import { cachedTenantReads, createReadCache } from './reads/read-cache.ts';
import { jobReads, keptBodyReads, signalReads } from './reads/signals.ts';
import { sourceReads } from './reads/sources.ts';
import { createLongSearchTest, type SearchThreads } from './search-thread.ts';

export interface SqliteStoreDeps {
  db: Database;
  clock: Clock;
  writer: Writer;
  /** Counts in a separate thread; null: in the server's own. */
  countsThread: CountsThread | null;
  /** Searches in a separate thread; null: in the server's own. */
  searchThreads: SearchThreads | null;
  /** Is given damage that reads meet; null: not observed. */
  storage?: StorageWatch | null;
}

/**
 * The store on an open, migrated database; closing it also closes the database and the writer. Its methods are
 * generated: reads return committed data, changes go to the writer by name. Pages that take several reads are in
 * `face/`.
 */
export function createSqliteStore(options: SqliteStoreDeps): OpenedStore {
  const { db, clock, writer, countsThread, searchThreads, storage = null } = options;
  const version = schemaVersion(db);

  // Otherwise, a loop over reads, such as one for each line of a mail, would run in one turn of the event loop.
  async function read<T>(query: () => T): Promise<T> {
    if (isTurnLong()) await standInLine();
    try {
      return query();
    } catch (error) {
      throw noted(error);
    }
  }

  function noted(error: unknown): unknown {
    const translated = translateFault(error, faultOfSqlite);
    storage?.unread(translated);
    return translated;
  }

  const reads = asyncReads(createReads(db), read);
  const { untilStored, ...waits } = createStoredWaits(clock, createNewestStored(db));
  writer.onCommit((batch) => waits.committed(() => batch.map(ownerOf)));
  const methods = createMethods({
    ...{ clock, writer, reads },
    presenceOf: (changes) => (db.memory ? ALONE : createPresence(clock, changes)),
    store: () => store,
  });
  const countAll = createCounts(db);
  const isLong = createLongSearchTest(db);
  const checkFiles = db.memory ? () => {} : createFileCheck(db.name);
  const store: OpenedStore = {
    ...reads,
    async listSignals(tenantId, query) {
      const found = isLong(tenantId, query) ? await searchThreads?.listSignals(tenantId, query) : null;
      return found ?? (await reads.listSignals(tenantId, query));
    },
    async countSignals(tenantId, query, most) {
      const mayTakeLong = isLong(tenantId, { ...query, sort: '-timestamp' }); // counted in no order
      const found = mayTakeLong ? await searchThreads?.countSignals(tenantId, query, most) : null;
      return found ?? (await reads.countSignals(tenantId, query, most));
    },
    listProfiles: createProfileList(reads),
    pageProfiles: pageProfilesInParts(reads.pageProfiles),
    listCampaigns: listCampaignsInParts(reads.listCampaigns),
    pageSources: pageSourcesInParts(reads.pageSources),
    listEndpoints: createEndpointList(reads),
    pageEndpoints: pageEndpointsInParts(reads.pageEndpoints),
    listReceivers: createReceiverList(reads),
    dueSources: createDueSources(reads),
    listDueProbes: createDueProbes(reads),
    recentAttempts: createRecentAttempts(reads),
    ...methods,
    async probe() {
      await methods.probe();
      checkFiles(); // after a write, so that there is a write-ahead log
      if (storage !== null) refuseDamage(storage);
    },
    // Two servers on one file see each other's leases, and have separate limits and turns.
    inTurn: createTurns(null),
    epoch: () => 0,
    isOnDuty: async () => true,
    shareCounts: () => () => {},
    ...deliveryPageFace(db, clock, read),
    ...eventPageFace(db, clock, read),
    ...leadPageFace(db, clock, read),
    ...companyPageFace(db, clock, read),
    ...boardFace(db, clock, read),
    ...postFace(db, clock, read),
    ...flowFace(db, clock, read),
    ...signalDayFace(db, clock, read),
    ...digestFace(db, clock, read),
    ...batchFace(db, clock, read),
    ...dueMailFace(db, clock, read),
    ...personSignalFace(db, clock, read),
    ...companySignalFace(db, clock, read),
    ...endpointCountFace(db, clock, read),
    untilStored,
    async countAll(lateBefore) {
      if (countsThread === null) return read(() => countAll(lateBefore));
      return countsThread.countAll(lateBefore).catch((error: unknown) => {
        throw noted(error);
      });
    },
    pulse: () => ({
      schemaVersion: version,
      clockSkewMs: null,
      ...writer.pulse(),
      ...(db.memory ? NO_FILES : fileSizes(db.name)),
    }),
    async close() {
      waits.close();
      await methods.close();
      await countsThread?.close();
      await searchThreads?.close();
      db.close();
    },
  };
  return store;
}

type AsyncReads<F> = {
  [K in keyof F]: F[K] extends (...args: infer A) => infer R ? (...args: A) => Promise<R> : never;
};

/** Wraps each synchronous read in a promise. */
function asyncReads<F extends object>(reads: F, read: <T>(query: () => T) => Promise<T>): AsyncReads<F> {
  const later = Object.entries(reads).map(([name, ask]) => [
    name,
    (...args: unknown[]) => read(() => ask(...args)),
  ]);
  return Object.fromEntries(later) as AsyncReads<F>;
}

const NO_FILES = { databaseBytes: 0, walBytes: 0, freeBytes: null };

/** Every query by name, run synchronously on committed data. */
export function createReads(db: Database) {
  const reads = {
    ...tenantReads(db),
    ...sessionReads(db),
    ...teamReads(db),
    ...auditReads(db),
    ...keyReads(db),
    ...profileReads(db),
    ...signalReads(db),
    ...leadReads(db),
    ...leadSignalReads(db),
    ...erasureReads(db),
    ...campaignReads(db),
    ...campaignEventReads(db),
    ...companyReads(db),
    ...endpointReads(db),
    ...receiverReads(db),
    ...feedReads(db),
    ...deliveryReads(db),
    ...laneReads(db),
    ...jobReads(db),
    ...keptBodyReads(db),
    ...mailReads(db),
    ...noticeReads(db),
    ...digestReads(db),
    ...backfillReads(db),
    ...restReads(db),
    ...batchReads(db),
    ...sourceReads(db),
    ...subscriptionReads(db),
    ...storageReads(db),
  };
  return { ...reads, ...cachedTenantReads(createReadCache(db), reads) };
}
