import type { Client, ClientConfig, QueryArrayResult } from 'pg';
import type { Clock } from '../../lib/clock.ts';
import { faultOfPostgres } from './faults.ts';

/** Where and how to connect, in the format of `pg`. */
export type ConnectionConfig = ClientConfig;

/** A statement that the server prepares once per connection. */
export interface Prepared {
  name: string;
  text: string;
  /**
   * The members of its row parameter, in the order of its placeholders; null: its values are passed in that order.
   */
  members: readonly string[] | null;
}

interface QueryResult {
  columns: readonly string[];
  rows: (readonly unknown[])[];
  /** The number of rows that it changed or returned. */
  count: number;
}

/**
 * One connection, used by one transaction at a time. Statements are sent without waiting for earlier ones, and run in
 * that order: a statement without a result costs no round trip.
 */
export interface Connection {
  /** @throws the first failure of the transaction; every later statement fails with it */
  ask(statement: Prepared, values: readonly unknown[]): Promise<QueryResult>;
  /** Sends a statement without a result. Its error is thrown by the next `ask`, or by the transaction. */
  send(statement: Prepared, values: readonly unknown[]): void;
  /** Runs SQL with several statements. */
  execute(sql: string): Promise<void>;
  /**
   * Commits what `work` does; rolls back if it throws or a statement failed.
   * @throws InDoubtError if the connection was lost at COMMIT
   */
  transact(work: () => Promise<void>): Promise<void>;
  /** Runs a part of a transaction. If it fails, only that part is rolled back, and the cause is returned. */
  tryPart(work: () => Promise<void>): Promise<{ cause: unknown } | null>;
  close(): Promise<void>;
}

/** The connection was lost at COMMIT: the number of the transaction shows whether it was committed. */
export class InDoubtError extends Error {
  override readonly name = 'InDoubtError';
  /** PostgreSQL's code for it. */
  readonly code = '08007';
  readonly transactionId: string;

  constructor(transactionId: string, cause: unknown) {
    super('The connection was lost at COMMIT.', { cause });
    this.transactionId = transactionId;
  }
}

const BIGINT = 20;
const BYTEA = 17;

const [BEGIN, COMMIT, SAVEPOINT, RELEASE] = ['BEGIN', 'COMMIT', 'SAVEPOINT part', 'RELEASE part'].map(
  (text) => ({ name: '', text, members: null }),
) as [Prepared, Prepared, Prepared, Prepared];
/** As text, because it exceeds the integers that a double represents exactly. */
const NUMBER: Prepared = { name: 'xid', text: 'SELECT pg_current_xact_id()::text', members: null };

const TIMES = {
  connectionTimeoutMillis: 5_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  // A node suspended inside a transaction holds locks that others wait for.
  idle_in_transaction_session_timeout: 10_000,
};

/** Connects. */
export async function connect(config: ConnectionConfig): Promise<Connection> {
  const first = await openClient(config);
  return createConnection(() => openClient(config), first);
}

/** A connection that is opened on first use, and again when it is used after it was lost. */
export function connectLater(config: ConnectionConfig): Connection {
  return createConnection(() => openClient(config));
}

/**
 * Messages between nodes, on a separate connection: NOTIFY in a transaction that changes rows would serialize all
 * commits.
 */
export interface Channel {
  /** Dropped while the connection is lost: on reconnecting, the listener looks for everything that is due anyway. */
  notify(payload: string): void;
  close(): Promise<void>;
}

/** The delay between two attempts to connect. */
const RECONNECT_MS = 1_000;

/**
 * Listens from now on, and again after the connection was lost. `onListening` is called each time: earlier messages
 * were missed.
 */
export function openChannel(
  config: ConnectionConfig,
  clock: Clock,
  name: string,
  on: { listening(): void; message(payload: string): void },
): Channel {
  let client: Client | null = null;
  let isClosed = false;

  /** Resolves when the connection is lost, or was not to be had. */
  async function listen(): Promise<void> {
    const opened = await openClient({ ...config, connectionTimeoutMillis: TIMES.connectionTimeoutMillis });
    const lost = new Promise<void>((resolve) => opened.once('end', () => resolve()));
    opened.on('notification', ({ payload }) => on.message(payload ?? ''));
    try {
      await opened.query(`LISTEN ${name}`);
      if (isClosed) return;
      client = opened;
      on.listening();
      await lost;
    } finally {
      client = null;
      await opened.end();
    }
  }

  async function keepTrying(): Promise<void> {
    await listen().catch(() => {});
    if (!isClosed) clock.after(RECONNECT_MS, () => void keepTrying());
  }

  void keepTrying();
  return {
    notify(payload) {
      client?.query('SELECT pg_notify($1, $2)', [name, payload]).catch(() => {});
    },
    async close() {
      isClosed = true;
      await client?.end().catch(() => {});
    },
  };
}

/** Imports `pg` only if a server is to be connected to. */
async function openClient(config: ConnectionConfig): Promise<Client> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({
    ...TIMES,
    ...config,
    pipeline: true,
    types: {
      getTypeParser(oid: number, format?: 'text' | 'binary') {
        const parse = pg.types.getTypeParser(oid, format);
        if (oid === BIGINT) return toNumber;
        return oid === BYTEA ? (text: string) => toBytes(parse(text)) : parse;
      },
    },
  });
  client.on('error', () => {});
  await client.connect();
  return client;
}

function createConnection(open: () => Promise<Client>, first: Client | null = null): Connection {
  let client = first;
  let isLost = first === null;
  let opening: Promise<void> | null = null;
  let isInTransaction = false;
  /** The first failure since the transaction, or its part, started. */
  let failure: { cause: unknown } | null = null;
  /** Settles when all statements sent so far have a result. */
  let last: Promise<unknown> = Promise.resolve();
  if (first !== null) watch(first);

  function watch(watched: Client): void {
    // Statements in progress fail with it. Without a listener, an error would end the process.
    for (const event of ['error', 'end'] as const) {
      watched.on(event, () => {
        if (watched === client) isLost = true;
      });
    }
  }

  /** Reconnects, except inside a transaction: its work so far is lost with the connection. */
  async function ready(): Promise<void> {
    if (!isLost || isInTransaction) return;
    opening ??= open()
      .then((opened) => {
        client = opened;
        isLost = false;
        watch(opened);
      })
      .finally(() => {
        opening = null;
      });
    await opening;
  }

  /** The current connection, possibly lost: statements sent on it then fail. */
  function current(): Client {
    if (client === null) throw new Error('Connection terminated');
    return client;
  }

  function query({ name, text, members }: Prepared, values: readonly unknown[]): Promise<QueryArrayResult> {
    const given = members === null ? values : pick(values[0] as Record<string, unknown>, members);
    const answer = current().query({ name, text, values: given.map(toParameter), rowMode: 'array' });
    last = answer.catch((cause: unknown) => {
      if (isInTransaction) failure ??= { cause };
    });
    return answer;
  }

  function send(statement: Prepared, values: readonly unknown[] = []): void {
    query(statement, values).catch(() => {});
  }

  async function settle(): Promise<void> {
    await last;
    if (failure !== null) throw failure.cause;
  }

  async function runAndCommit(work: () => Promise<void>): Promise<void> {
    send(BEGIN);
    const number = query(NUMBER, []).then(({ rows }) => String(rows[0]?.[0]));
    number.catch(() => {});
    try {
      await work();
      // Read before COMMIT is sent, because nothing can be read if the connection is lost during it.
      const transactionId = await number.catch(() => null);
      // After a failed statement, COMMIT is a rollback, and there is no doubt.
      const isCommitSent = failure === null && transactionId !== null;
      send(COMMIT);
      await settle().catch((cause: unknown) => {
        throw isCommitSent && (isLost || faultOfPostgres(cause) === 'outage')
          ? new InDoubtError(transactionId, cause)
          : cause;
      });
    } catch (error) {
      await last;
      // If the connection is gone, the server has rolled it back.
      await current()
        .query('ROLLBACK')
        .catch(() => {});
      throw error;
    }
  }

  return {
    async ask(statement, values) {
      if (isLost) await ready();
      try {
        const { rows, fields, rowCount } = await query(statement, values);
        return { columns: fields.map(({ name }) => name), rows, count: rowCount ?? 0 };
      } catch (error) {
        throw failure === null ? error : failure.cause;
      }
    },
    send,
    async execute(sql) {
      if (isLost) await ready();
      await current().query(sql);
    },
    async transact(work) {
      await ready();
      failure = null;
      isInTransaction = true;
      try {
        await runAndCommit(work);
      } finally {
        isInTransaction = false;
        failure = null;
      }
    },
    async tryPart(work) {
      send(SAVEPOINT);
      try {
        await work();
        send(RELEASE);
        await settle();
        return null;
      } catch (cause) {
        await last;
        failure = null;
        await current().query('ROLLBACK TO part');
        return { cause };
      }
    },
    async close() {
      await opening?.catch(() => {});
      await client?.end();
    },
  };
}

function pick(row: Record<string, unknown>, members: readonly string[]): unknown[] {
  return members.map((member) => row[member]);
}

/** PostgreSQL's text cannot contain NUL, which a post read by a source or a list's filter may. */
function toParameter(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toParameter);
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
}

/**
 * Counts, times and most IDs are numbers. A `seq` exceeds the integers that a double represents exactly, and stays
 * text.
 */
function toNumber(text: string): number | string {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}

/** Plain arrays, not Buffers: they stay plain arrays when passed to another thread, without the memory that Buffers share. */
function toBytes(bytes: Buffer): Uint8Array {
  return new Uint8Array(bytes);
}
