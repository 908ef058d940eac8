import { hash } from 'node:crypto';

/** The type of a PostgreSQL column. */
export type ColumnType = 'text' | 'json' | 'bigint' | 'boolean' | 'bytea' | 'double precision';

/** A value in the text format of a PostgreSQL array, in which rows of both engines are compared. */
export type Plain = string | null;

/** The number of rows, and a hash of all of them that does not depend on their order. */
export interface Digest {
  rows: number;
  hash: string;
}

/** Converts a value from SQLite, whose integers are read as `bigint`. */
export function plainOfSqlite(type: ColumnType, value: unknown): Plain {
  if (value === null) return null;
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  if (type === 'boolean') return String(value !== 0n);
  if (type === 'double precision') return String(Number(value));
  // Text in PostgreSQL cannot contain NUL.
  return String(value).replaceAll('\0', '\ufffd');
}

/** The SQL that casts a column to text, for {@link plainOfPostgres}. */
export function asText(column: string, type: ColumnType): string {
  return type === 'bytea' ? `'\\x' || encode(${column}, 'hex')` : `${column}::text`;
}

export function plainOfPostgres(type: ColumnType, text: unknown): Plain {
  if (text === null) return null;
  // PostgreSQL formats the shortest digits of a number differently: 1e-05.
  return type === 'double precision' ? String(Number(text)) : String(text);
}

const LANES = 8;

/**
 * Adds up the hashes of rows in eight independent lanes: the sum does not depend on their order, and a duplicate row
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
