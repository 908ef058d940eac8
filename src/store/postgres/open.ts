import { type Clock, MINUTE_MS } from '../../lib/clock.ts';
import type { KeyProof } from '../../lib/secret-box.ts';
import { standInLine } from '../../lib/yielding.ts';
import { createCommitMeter } from '../commit-meter.ts';
import { createDueProbes } from '../due-probes.ts';
import { createDueSources } from '../due-sources.ts';
import { StoreOpenError } from '../errors.ts';
import { createMethods } from '../methods.ts';
import type { MigrationResult } from '../migrations.ts';
import {
  createEndpointList,
  createProfileList,
  createReceiverList,
  listCampaignsInParts,
  pageProfilesInParts,
  pageSourcesInParts,
} from '../paged-list.ts';
import { createPresence } from '../presence.ts';
import { createRecentAttempts } from '../recent-attempts.ts';
import { createStorageWatch, refuseDamage, type StorageChange } from '../storage-watch.ts';
import type { MadeDue, OpenedStore } from '../store.ts';
import { createStoredWaits } from '../stored-waits.ts';
import { createTurns } from '../turns.ts';
import { ownerOf } from '../weights.ts';
import { dropAttemptDays, makeAttemptDays } from './attempt-days.ts';
import { type Connection, type ConnectionConfig, connect, connectLater } from './connection.ts';
import { connectionRefusalOf, faultOfPostgres } from './faults.ts';
import { migrate } from './migrate.ts';
import { createNodeLock } from './node-lock.ts';
import { createNodes, type Nodes } from './nodes.ts';
import { createReadPool } from './read-pool.ts';
import { createReceiverCache } from './reads/endpoints.ts';
import { createNewestStored } from './reads/events.ts';
import { createReads } from './reads.ts';
import { prepared } from './sql/prepared.ts';
import { storageReads } from './sql/processes.ts';
import { createInlineWriter, createThreadWriter } from './writer.ts';

export interface PostgresStoreOptions {
  /** The address of the database, in the format of `pg`. */
  config: ConnectionConfig;
  clock: Clock;
  /** The proof of the master key, which is stored; omitted: no key is checked. */
  keyProof?: KeyProof;
  /** Writes in a separate thread: for a server. */
  writerThread?: boolean;
  /** Called when changes can no longer be stored, and when they can again. */
  onStorageChange?(change: StorageChange): void;
}

const OLDEST_SERVER = 15;
/** A suspended server, or a network that drops everything, does not close connections: a read without a response in time has failed. */
const READ_LIMIT_MS = 30_000;
/** Longer, because changes of one tenant wait for each other. A migration has no limit. */
const CHANGE_LIMIT_MS = 60_000;
/** Endpoints with due work that are reported to listeners at a time: about 3 ms. */
const TOLD_AT_ONCE = 500;
/** Retention works in parts: one call is enough for all of them. */
const DAYS_KEPT_MS = 10 * MINUTE_MS;

const readServer = prepared(
  "SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding')",
);
const learnKey = prepared('INSERT INTO master_key (id, proof) VALUES (1, ?) ON CONFLICT (id) DO NOTHING');
const readKey = prepared('SELECT proof FROM master_key WHERE id = 1');
const changeKey = prepared('UPDATE master_key SET proof = ? WHERE id = 1');

/** Connects, and migrates the schema to this program's version. @throws StoreOpenError */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<OpenedStore> {
  const { db, to } = await openDatabase(options);
  await db.close();
  return createPostgresStore(to, options);
}

/** Migrates the schema to this program's version without starting anything. @throws StoreOpenError */
export async function migratePostgres(
  config: ConnectionConfig,
  keyProof: KeyProof,
): Promise<MigrationResult> {
  const { db, ...result } = await openDatabase({ config, keyProof });
  await db.close();
  return result;
}

function limited(config: ConnectionConfig, limitMs: number): ConnectionConfig {
  // The server gives up, too: it would keep the connection busy with a statement that nobody waits for.
  return { ...config, query_timeout: limitMs, statement_timeout: limitMs };
}

async function openDatabase({
  config,
  keyProof,
}: Pick<PostgresStoreOptions, 'config' | 'keyProof'>): Promise<MigrationResult & { db: Connection }> {
  try {
    const db = await connect(config);
    try {
      await refuseUnfit(db);
      const result = await migrate(db);
      if (keyProof !== undefined) await admitKey(db, keyProof);
      await makeAttemptDays(db);
      return { db, ...result };
    } catch (error) {
      await db.close();
      throw error;
    }
  } catch (error) {
    throw explained(error);
  }
}

function createPostgresStore(
  version: number,
  { config, clock, writerThread = false, onStorageChange }: PostgresStoreOptions,
): OpenedStore {
  const storage = createStorageWatch(clock, onStorageChange ?? (() => undefined));
  const createWriter = writerThread ? createThreadWriter : createInlineWriter;
  const watch = { meter: createCommitMeter(clock), storage };
  const writer = createWriter(limited(config, CHANGE_LIMIT_MS), watch);
  const receivers = createReceiverCache();
  const pool = createReadPool(
    limited(config, READ_LIMIT_MS),
    clock,
    (reader) => ({
      ...createReads(reader, receivers),
      ...storageReads(reader),
      newestStored: createNewestStored(reader),
    }),
    storage.unread,
  );
  const { newestStored, startsOf, ...reads } = pool.reads;
  const { untilStored, ...waits } = createStoredWaits(clock, newestStored);
  writer.onCommit((batch) => waits.committed(() => batch.map(ownerOf)));
  const lockConnection = connectLater(limited(config, READ_LIMIT_MS));
  const methods = createMethods({
    ...{ clock, writer, reads },
    presenceOf: (changes) => createPresence(clock, changes),
    startsOf,
    store: () => store,
  });
  const listeners: ((made: MadeDue) => void)[] = [];
  const tellAll = (made: MadeDue) => {
    for (const listener of listeners) listener(made);
  };
  let daysKeptUntil = 0;
  let nodes: Nodes | null = null;
  let isLookAsked = false;
  let isLooking = false;
  /** Joins the other nodes with the first listener: commands have none, and do not join. */
  const joined = () => {
    nodes ??= createNodes({
      config: limited(config, READ_LIMIT_MS),
      clock,
      db: connectLater(limited(config, READ_LIMIT_MS)),
      onDue: tellAll,
      onLook: lookAround,
    });
    return nodes;
  };

  /** Polls for what other nodes made due, in case a message was lost. One poll at a time: each reads all endpoints. */
  function lookAround(): void {
    isLookAsked = true;
    if (isLooking) return;
    isLooking = true;
    void look().finally(() => {
      isLooking = false;
    });
  }

  async function look(): Promise<void> {
    while (isLookAsked) {
      isLookAsked = false;
      const now = clock.now();
      // If it fails, the next poll finds it.
      const lanes = await store.listDueLanes().catch(() => null);
      if (lanes === null) return;
      tellAll({ due: [], endpoints: [], sources: true });
      for (let at = 0; at < lanes.length; at += TOLD_AT_ONCE) {
        const part = lanes.slice(at, at + TOLD_AT_ONCE);
        tellAll({ due: part.filter(({ nextDueAt }) => nextDueAt <= now), endpoints: [], sources: false });
        await standInLine();
      }
    }
  }

  /** On a connection for the purpose, as it is once an hour. */
  async function keepAttemptDays(before: number): Promise<void> {
    if (clock.monotonic() < daysKeptUntil) return;
    const own = await connect(limited(config, CHANGE_LIMIT_MS));
    try {
      await makeAttemptDays(own);
      await dropAttemptDays(own, before);
      daysKeptUntil = clock.monotonic() + DAYS_KEPT_MS;
    } finally {
      await own.close();
    }
  }

  const store: OpenedStore = {
    ...reads,
    listProfiles: createProfileList(reads),
    pageProfiles: pageProfilesInParts(reads.pageProfiles),
    listCampaigns: listCampaignsInParts(reads.listCampaigns),
    pageSources: pageSourcesInParts(reads.pageSources),
    listEndpoints: createEndpointList(reads),
    listReceivers: createReceiverList(reads),
    dueSources: createDueSources(reads),
    listDueProbes: createDueProbes(reads),
    recentAttempts: createRecentAttempts(reads),
    ...methods,
    async pruneAttempts(before, limit) {
      await keepAttemptDays(before);
      return methods.pruneAttempts(before, limit);
    },
    untilStored,
    inTurn: createTurns(createNodeLock(lockConnection, clock)),
    async probe() {
      await methods.probe();
      refuseDamage(storage);
    },
    onCommitted(listener) {
      const others = joined();
      if (listeners.length === 0) methods.onCommitted(others.tell);
      listeners.push(listener);
      methods.onCommitted(listener);
    },
    isOnDuty: () => joined().isOnDuty(),
    shareCounts: (window, onCounted) => joined().share(window, onCounted),
    pulse: () => ({
      schemaVersion: version,
      ...writer.pulse(),
      ...NO_FILES,
      clockSkewMs: nodes?.clockSkewMs() ?? null,
    }),
    async close() {
      waits.close();
      await methods.close();
      await nodes?.close();
      await pool.close();
      await lockConnection.close();
    },
  };
  return store;
}

/** The files belong to the server. */
const NO_FILES = { databaseBytes: 0, walBytes: 0, freeBytes: null };

async function refuseUnfit(db: Connection, address = 'DATABASE_URL'): Promise<void> {
  const [found = []] = (await db.ask(readServer, [])).rows;
  const [version, encoding] = [Math.floor(Number(found[0]) / 10_000), String(found[1])];
  if (version < OLDEST_SERVER) {
    throw new StoreOpenError(
      'unfit_server',
      `The server is PostgreSQL ${version}, and ${OLDEST_SERVER} is the oldest that will do. Upgrade it, or point ${address} ` +
        'at another one.',
    );
  }
  if (encoding !== 'UTF8') {
    throw new StoreOpenError(
      'unfit_server',
      `The database has the encoding ${encoding}, which does not hold every text. Create one with ENCODING 'UTF8'.`,
    );
  }
}

/**
 * Stores the proof of the key: if two nodes start for the first time with different keys, the later one is refused.
 */
async function admitKey(db: Connection, { check, olderChecks, source }: KeyProof): Promise<void> {
  await db.transact(async () => {
    db.send(learnKey, [check]);
    const known = String((await db.ask(readKey, [])).rows[0]?.[0]);
    if (known === check) return;
    if (!olderChecks.includes(known)) {
      throw new StoreOpenError(
        'other_key',
        `The database belongs to another master key than the one in ${source}: its secrets cannot be read with this one. ` +
          'Nothing was changed. Give every node the key that belongs to it, as secrets.key or in SECRETS_KEY, or point ' +
          'DATABASE_URL at the database that this key belongs to.',
      );
    }
    db.send(changeKey, [check]);
  });
}

/**
 * Connects to a suitable server, without migrating its schema. `address` is the setting that contains its address, for
 * errors. @throws StoreOpenError
 */
export async function connectToServer(
  config: PostgresStoreOptions['config'],
  address: string,
): Promise<Connection> {
  try {
    const db = await connect(config);
    try {
      await refuseUnfit(db, address);
      return db;
    } catch (error) {
      await db.close();
      throw error;
    }
  } catch (error) {
    throw explained(error, address);
  }
}

/** What the server refused, and the solution; `address` is the setting that contains its address. */
const REFUSALS: Record<string, (address: string) => string> = {
  '28P01': (address) => `does not accept the password. Correct it in ${address}.`,
  '28000': (address) =>
    `does not let this user in. Correct the user in ${address}, or allow it in pg_hba.conf.`,
  '3D000': (address) =>
    `has no such database. Create it, empty, with ENCODING UTF8, or correct the name in ${address}.`,
  password: (address) => `asks for a password, and ${address} has none. Add it there, or set PGPASSWORD.`,
  tls: (address) => `does not offer TLS. Set it up there, or remove sslmode from ${address}.`,
  certificate: (address) =>
    `has a certificate that cannot be verified. Name its authority with sslrootcert in ${address}, or correct the host there.`,
  '42501': () => 'does not let this user create tables. Make the user the owner of the database.',
};

const TOO_SLOW =
  'ended a statement or its wait for a lock. Set statement_timeout and lock_timeout to 0 for this user and database, or find out who holds it up.';
/** States of the server that may pass, and the solution, by PostgreSQL's code. */
const STATES: Record<string, (address: string) => string> = {
  '25006': (address) => `takes no changes: it is a standby, or read-only. Name the primary in ${address}.`,
  '53300': () =>
    'has no connection left. Close some, or raise max_connections there or the connection limit of this user or database.',
  '55P03': () => TOO_SLOW,
  '57014': () => TOO_SLOW,
};

function explained(error: unknown, address = 'DATABASE_URL'): unknown {
  if (error instanceof StoreOpenError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ERR_MODULE_NOT_FOUND') {
    return new StoreOpenError(
      'no_driver',
      `${address} is set, and the package "pg" is not installed. Run "npm install pg" beside Signalpost, or remove ` +
        `${address} to keep everything in DATA_DIR.`,
      error,
    );
  }
  const refusal = REFUSALS[connectionRefusalOf(error) ?? code]?.(address);
  if (refusal !== undefined) {
    return new StoreOpenError('unfit_server', `The PostgreSQL server ${refusal}`, error);
  }
  if (faultOfPostgres(error) === null) return error;
  const state = STATES[code]?.(address);
  if (state !== undefined)
    return new StoreOpenError('unreachable', `The PostgreSQL server ${state} (${code})`, error);
  return new StoreOpenError(
    'unreachable',
    `The PostgreSQL server cannot be reached${code === '' ? '' : ` (${code})`}. Start it, or correct host and port in ${address}.`,
    error,
  );
}
