import { hash } from 'node:crypto';

/** What a column of PostgreSQL holds. */
export type ColumnType = 'text' | 'json' | 'bigint' | 'boolean' | 'bytea' | 'double precision';

/** A value as PostgreSQL reads it in an array of its type, and as rows of both engines are compared by. */
export type Plain = string | null;

/** How many rows there are, and a hash of all of them that does not depend on their order. */
export interface Digest {
  rows: number;
  hash: string;
}

/** The value that a row of SQLite holds, whose numbers are read as `bigint`. */
export function plainOfSqlite(type: ColumnType, value: unknown): Plain {
  if (value === null) return null;
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  if (type === 'boolean') return String(value !== 0n);
  if (type === 'double precision') return String(Number(value));
  // Text of PostgreSQL holds no NUL.
  return String(value).replaceAll('\0', '\ufffd');
}

/** The SQL that makes a column text, to be read by {@link plainOfPostgres}. */
export function asText(column: string, type: ColumnType): string {
  return type === 'bytea' ? `'\\x' || encode(${column}, 'hex')` : `${column}::text`;
}

export function plainOfPostgres(type: ColumnType, text: unknown): Plain {
  if (text === null) return null;
  // The shortest digits of a number are written otherwise there: 1e-05.
  return type === 'double precision' ? String(Number(text)) : String(text);
}

const LANES = 8;

/**
 * Adds up the hashes of rows, each of eight lanes by itself: rows in another order come to the same sum, and one that is there twice
 * counts twice.
 */
export function createDigester(): { add(row: readonly Plain[]): void; result(): Digest } {
  const sum = new Uint32Array(LANES);
  let rows = 0;
  return {
    add(row) {
      const bytes = hash('sha256', JSON.stringify(row), 'buffer');
      for (let lane = 0; lane < LANES; lane++) sum[lane] = (sum[lane] ?? 0) + bytes.readUInt32BE(lane * 4);
      rows++;
    },
    result: () => ({
      rows,
      hash: Array.from(sum, (lane) => lane.toString(16).padStart(8, '0')).join(''),
    }),
  };
}
