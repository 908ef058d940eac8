import type { Client, ClientConfig, QueryArrayResult } from 'pg';

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
  /** Commits what `work` does, or nothing of it where it throws or a statement failed. */
  transact(work: () => Promise<void>): Promise<void>;
  /** Runs a part of a transaction. Where it fails, that part alone is rolled back, and its cause returned. */
  tryPart(work: () => Promise<void>): Promise<{ cause: unknown } | null>;
  close(): Promise<void>;
}

const BIGINT = 20;
const BYTEA = 17;

const [BEGIN, COMMIT, SAVEPOINT, RELEASE] = ['BEGIN', 'COMMIT', 'SAVEPOINT part', 'RELEASE part'].map(
  (text) => ({ name: '', text, members: null }),
) as [Prepared, Prepared, Prepared, Prepared];

/** Connects. `pg` is loaded only where a server is to be reached. */
export async function connect(config: ClientConfig): Promise<Connection> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({
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
  // What is under way fails with it, and so does what is asked next. Without a listener it would end the process.
  client.on('error', () => {});
  await client.connect();
  return createConnection(client);
}

function createConnection(client: Client): Connection {
  /** What failed first since the transaction began, or its part. */
  let failure: { cause: unknown } | null = null;
  /** Settles when everything that was sent is answered. */
  let last: Promise<unknown> = Promise.resolve();

  function query({ name, text, members }: Prepared, values: readonly unknown[]): Promise<QueryArrayResult> {
    const given = members === null ? values : pick(values[0] as Record<string, unknown>, members);
    const answer = client.query({ name, text, values: given.map(toParameter), rowMode: 'array' });
    last = answer.catch((cause: unknown) => {
      failure ??= { cause };
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

  return {
    async ask(statement, values) {
      try {
        const { rows, fields, rowCount } = await query(statement, values);
        return { columns: fields.map(({ name }) => name), rows, count: rowCount ?? 0 };
      } catch (error) {
        throw failure === null ? error : failure.cause;
      }
    },
    send,
    async execute(sql) {
      await client.query(sql);
    },
    async transact(work) {
      failure = null;
      send(BEGIN);
      try {
        await work();
        // Behind a statement that failed it is a roll-back.
        send(COMMIT);
        await settle();
      } catch (error) {
        await last;
        // Where the connection is gone, the server has rolled it back.
        await client.query('ROLLBACK').catch(() => {});
        throw error;
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
        await client.query('ROLLBACK TO part');
        return { cause };
      }
    },
    close: () => client.end(),
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
