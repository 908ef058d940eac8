import { writeFileSync } from 'node:fs';
import { serialize } from 'node:v8';
import pg from 'pg';

// Loaded before a program (`node --import`): records every statement that it sends to PostgreSQL after SIGUSR2, and writes
// them to the file in BENCH_RECORD on exit.

/** A statement with its values. */
export interface Sent {
  text: string;
  name?: string;
  values?: unknown[];
}

const connections = new Map<object, Sent[]>();
let isOn = false;

const query = pg.Client.prototype.query as (...args: unknown[]) => unknown;
pg.Client.prototype.query = function (this: object, ...args: unknown[]) {
  const [sent, given] = args as [string | Sent, unknown];
  if (isOn) {
    const all = connections.get(this) ?? [];
    connections.set(this, all);
    const { text, name, values } =
      typeof sent === 'string' ? { text: sent, name: '', values: Array.isArray(given) ? given : [] } : sent;
    all.push({ text, ...(name && { name }), ...(values && { values: values.map(plain) }) });
  }
  return query.apply(this, args);
} as typeof pg.Client.prototype.query;

/** Copies bytes that share their memory. */
function plain(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value) : value;
}

process.on('SIGUSR2', () => {
  isOn = true;
});
process.on('exit', () => {
  writeFileSync(process.env.BENCH_RECORD ?? '', serialize([...connections.values()]));
});
