import { writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { serialize } from 'node:v8';
import threads, { BroadcastChannel, isMainThread, threadId, type WorkerOptions } from 'node:worker_threads';
import pg from 'pg';

// Loaded before a program (`node --import`), in each of its threads: records every statement that it sends to PostgreSQL after
// SIGUSR2, and writes those of a thread to a file on exit, whose name begins as BENCH_RECORD says.

/** A statement with its values. */
export interface Sent {
  text: string;
  name?: string;
  values?: unknown[];
}

const connections = new Map<object, Sent[]>();
/** To threads that run already; later ones have the environment of the one that starts them. */
const started = new BroadcastChannel('bench-record');
started.unref();
let isOn = process.env.BENCH_RECORDING !== undefined;

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

started.onmessage = () => {
  isOn = true;
};
if (isMainThread) {
  process.on('SIGUSR2', () => {
    isOn = true;
    process.env.BENCH_RECORDING = 'yes';
    started.postMessage(null);
  });
}
// Threads are started without the flags of the process.
threads.Worker = class extends threads.Worker {
  constructor(file: string | URL, options: WorkerOptions = {}) {
    super(file, { ...options, execArgv: [...(options.execArgv ?? []), '--import', import.meta.url] });
  }
};
syncBuiltinESMExports();

process.on('exit', () => {
  writeFileSync(`${process.env.BENCH_RECORD}-${threadId}`, serialize([...connections.values()]));
});
