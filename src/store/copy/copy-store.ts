import { StoreUpkeepError } from '../errors.ts';
import { makeAttemptDays } from '../postgres/attempt-days.ts';
import { faultOfPostgres } from '../postgres/faults.ts';
import { hasUnfinishedCopy, migrate } from '../postgres/migrate.ts';
import { connectToServer } from '../postgres/open.ts';
import type { Digest, Plain } from './digest.ts';
import { createPostgresTarget, type PostgresTarget } from './postgres-target.ts';
import { type CopiedTable, type Key, openSqliteSource, type SqliteSource } from './sqlite-source.ts';

export interface CopyOrder {
  /** The SQLite database. */
  file: string;
  /** The PostgreSQL database: `postgres://…`. */
  to: string;
  onProgress(progress: CopyProgress): void;
}

/** `done` of `total` rows. */
export interface CopyProgress {
  step: 'read' | 'copy' | 'compare';
  done: number;
  total: number;
}

/** A table on both sides. */
export interface ComparedTable {
  name: string;
  sqlite: Digest;
  postgres: Digest;
  isSame: boolean;
}

export interface CopyReport {
  tables: ComparedTable[];
  /** False if the target already contained a store, which was only compared. */
  isCopied: boolean;
}

/** The attempts of so many days are kept at most, and each day has a table before they come. */
const KEPT_DAYS = 31;
/** The number of rows per commit of the copy; fewer if they are long. */
const BATCH_ROWS = 1_000;
const BATCH_CHARACTERS = 4 * 1024 * 1024;

/**
 * Copies a store from SQLite, which must not be in use, to an empty PostgreSQL database, and compares both. Each
 * batch is committed together with its progress, so that running the command again continues an interrupted copy;
 * until it is complete, no server opens the database. If the database already contains the same store, both are only
 * compared.
 * @throws StoreUpkeepError, StoreOpenError
 */
export async function copyStore({ file, to, onProgress }: CopyOrder): Promise<CopyReport> {
  const source = openSqliteSource(file);
  try {
    const db = await connectToServer({ connectionString: to }, '--to');
    try {
      if (!(await hasUnfinishedCopy(db))) await migrate(db);
      await makeAttemptDays(db, KEPT_DAYS);
      return await copyInto(await createPostgresTarget(db, source), source, onProgress);
    } catch (error) {
      throw explained(error);
    } finally {
      await db.close();
    }
  } finally {
    source.close();
  }
}

function explained(error: unknown): unknown {
  const fault = error instanceof StoreUpkeepError ? null : faultOfPostgres(error);
  if (fault === null) return error;
  const why = fault === 'full' ? 'has no space left' : 'no longer responds';
  return new StoreUpkeepError(
    `The PostgreSQL server ${why}. Run the same command again when it does: the copy continues where it stopped.`,
    { cause: error },
  );
}

async function copyInto(
  target: PostgresTarget,
  source: SqliteSource,
  onProgress: CopyOrder['onProgress'],
): Promise<CopyReport> {
  const { tables } = target;
  const total = tables.reduce((sum, { name }) => sum + source.count(name), 0);
  const counting = (step: CopyProgress['step'], from = 0) => {
    let done = from;
    onProgress({ step, done, total });
    return () => onProgress({ step, done: ++done, total });
  };
  const unfinished = await target.unfinished();
  const isFilled = unfinished === null && (await target.firstFilled()) !== null;
  if (isFilled && (await target.keyProof()) !== source.keyProof) throw otherStore();

  const onRead = counting('read');
  const digests = new Map(tables.map((table) => [table.name, source.digest(table, onRead)]));
  if (!isFilled) {
    const { schemas } = target;
    if (unfinished === null) await target.begin(schemas, digests);
    else if (unfinished.schemas !== schemas) throw otherRelease();
    const before = unfinished?.tables;
    for (const [name, { source: known }] of before ?? []) {
      if (digests.get(name)?.hash !== known.hash) throw changedSince();
    }
    const copied = [...(before?.values() ?? [])].reduce((sum, table) => sum + table.copied, 0);
    const onCopied = counting('copy', copied);
    for (const table of tables) {
      await copyTable(target, source, { table, after: before?.get(table.name)?.lastKey ?? null, onCopied });
    }
  }

  const compared: ComparedTable[] = [];
  const onCompared = counting('compare');
  for (const table of tables) {
    const { name } = table;
    const sqlite = digests.get(name) ?? { rows: 0, hash: '' };
    const postgres = await target.digest(table, onCompared);
    compared.push({
      name,
      sqlite,
      postgres,
      isSame: sqlite.hash === postgres.hash && sqlite.rows === postgres.rows,
    });
  }
  // Built from each signal during the copy; SQLite has no such rows.
  const signals = digests.get('signals')?.rows ?? 0;
  const words = await target.countSearched();
  const counted = (rows: number) => ({ rows, hash: '' });
  compared.push({
    ...{ name: 'signal_search', sqlite: counted(signals), postgres: counted(words) },
    isSame: words === signals,
  });
  if (!isFilled && compared.every(({ isSame }) => isSame)) await target.finish();
  return { tables: compared.sort((a, b) => (a.name < b.name ? -1 : 1)), isCopied: !isFilled };
}

interface TableOrder {
  table: CopiedTable;
  after: Key | null;
  onCopied(): void;
}

async function copyTable(
  target: PostgresTarget,
  source: SqliteSource,
  { table, after, onCopied }: TableOrder,
): Promise<void> {
  let before = after;
  let batch: Plain[][] = [];
  let characters = 0;

  async function store(last: Key): Promise<void> {
    await target.store(table, { rows: batch, before, last });
    for (const _ of batch) onCopied();
    before = last;
    batch = [];
    characters = 0;
  }

  let last: Key | null = null;
  for (const { key, row } of source.rows(table, after)) {
    batch.push(row);
    last = key;
    for (const value of row) characters += value?.length ?? 0;
    if (batch.length >= BATCH_ROWS || characters >= BATCH_CHARACTERS) await store(key);
  }
  if (batch.length > 0 && last !== null) await store(last);
}

function otherStore(): StoreUpkeepError {
  return new StoreUpkeepError(
    'The PostgreSQL database already holds another store. Nothing was changed. Name an empty database.',
  );
}

function otherRelease(): StoreUpkeepError {
  return new StoreUpkeepError(
    'The PostgreSQL database holds a copy that another release began. Create it anew, empty, and run this command again.',
  );
}

function changedSince(): StoreUpkeepError {
  return new StoreUpkeepError(
    'The SQLite database has changed since the copy was begun: a server or a command has used it. Create the PostgreSQL database ' +
      'anew, empty, and run this command again.',
  );
}
