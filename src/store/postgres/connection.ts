import type { Client, ClientConfig, QueryArrayResult } from 'pg';
import type { Clock } from '../../lib/clock.ts';
import { faultOfPostgres } from './faults.ts';

/** A statement as the server prepares it, once a connection. */
export interface Prepared {
  name: string;
  text: string;
  /** Members of the row that it takes, in the order of its parameters; null: its values come in that order. */
  members: readonly string[] | null;
}

interface Answer {
  columns: readonly string[];
  rows: (readonly unknown[])[];
  /** Rows that it changed or returned. */
  count: number;
}

/**
 * One connection, which one transaction at a time has to itself. Statements are sent without waiting for those before them,
 * and are run in that order: one that returns nothing costs no round trip.
 */
export interface Connection {
  /** @throws the first failure of the transaction, which everything behind it fails with */
  ask(statement: Prepared, values: readonly unknown[]): Promise<Answer>;
  /** Sends a statement that returns nothing. What it fails with is thrown by what is asked next, or by its transaction. */
  send(statement: Prepared, values: readonly unknown[]): void;
  /** Runs SQL of several statements. */
  execute(sql: string): Promise<void>;
  /**
   * Commits what `work` does, or nothing of it where it throws or a statement failed.
   * @throws InDoubtError where the connection was lost at COMMIT
   */
  transact(work: () => Promise<void>): Promise<void>;
  /** Runs a part of a transaction. Where it fails, that part alone is rolled back, and its cause returned. */
  tryPart(work: () => Promise<void>): Promise<{ cause: unknown } | null>;
  close(): Promise<void>;
}

/** The connection was lost while the server committed: whether it did is found by the number of the transaction. */
export class InDoubtError extends Error {
  override readonly name = 'InDoubtError';
  /** PostgreSQL's for it. */
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
/** As text, as it is larger than a number holds exactly. */
const NUMBER: Prepared = { name: 'xid', text: 'SELECT pg_current_xact_id()::text', members: null };

const TIMES = {
  connectionTimeoutMillis: 5_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  // A node that was stopped within a transaction holds locks that others wait for.
  idle_in_transaction_session_timeout: 10_000,
};

/** Connects. */
export async function connect(config: ClientConfig): Promise<Connection> {
  const first = await openClient(config);
  return createConnection(() => openClient(config), first);
}

/** A connection that is made when it is needed, and anew when it is needed after it was lost. */
export function connectLater(config: ClientConfig): Connection {
  return createConnection(() => openClient(config));
}

/** Messages between nodes, on a connection of its own: NOTIFY in a transaction that changes rows would hold up all others' commits. */
export interface Channel {
  /** Dropped while the connection is lost: on reconnecting, the listener looks for everything that is due anyway. */
  notify(payload: string): void;
  close(): Promise<void>;
}

/** How long it rests between two tries to connect. */
const RECONNECT_MS = 1_000;

/** Listens from now on, again after the connection was lost. `onListening` is called each time: what was said before was not heard. */
export function openChannel(
  config: ClientConfig,
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

/** `pg` is loaded only where a server is to be reached. */
async function openClient(config: ClientConfig): Promise<Client> {
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
  /** What failed first since the transaction began, or its part. */
  let failure: { cause: unknown } | null = null;
  /** Settles when everything that was sent is answered. */
  let last: Promise<unknown> = Promise.resolve();
  if (first !== null) watch(first);

  function watch(watched: Client): void {
    // What is under way fails with it. Without a listener an error would end the process.
    for (const event of ['error', 'end'] as const) {
      watched.on(event, () => {
        if (watched === client) isLost = true;
      });
    }
  }

  /** Within a transaction there is no other connection: what it has done so far is lost with it. */
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

  /** The one at hand, lost as it may be: what is sent on it fails then. */
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
      // Known before COMMIT is sent, as nothing is answered any more where the connection is lost at it.
      const transactionId = await number.catch(() => null);
      // Behind a statement that failed it is a roll-back, which leaves no doubt.
      const isCommitSent = failure === null && transactionId !== null;
      send(COMMIT);
      await settle().catch((cause: unknown) => {
        throw isCommitSent && (isLost || faultOfPostgres(cause) === 'outage')
          ? new InDoubtError(transactionId, cause)
          : cause;
      });
    } catch (error) {
      await last;
      // Where the connection is gone, the server has rolled it back.
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

/** Text of PostgreSQL holds no NUL, which a post that a source read may. */
function toParameter(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
}

/** Counts, times and most ids are numbers. A `seq` is larger than a number holds exactly, and stays text. */
function toNumber(text: string): number | string {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}

/** No Buffer comes out: what crosses threads comes out as a plain array, too. */
function toBytes({ buffer, byteOffset, length }: Buffer): Uint8Array {
  return new Uint8Array(buffer, byteOffset, length);
}
