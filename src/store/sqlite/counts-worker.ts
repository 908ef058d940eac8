import { parentPort, workerData } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';
import type { StoreCounts } from '../figures.ts';
import { createCounts } from './reads/counts.ts';

/** What became of a question; an error's message, as errors do not cross threads whole. */
export type CountsAnswer = { ok: true; counts: StoreCounts } | { ok: false; message: string };

if (parentPort !== null) serve(parentPort, workerData as { file: string });

/** Every message is a moment (`lateBefore`), every answer the counts of then. */
function serve(port: NonNullable<typeof parentPort>, { file }: { file: string }): void {
  const db = new Sqlite(file, { readonly: true });
  const countAll = createCounts(db);
  port.on('message', (lateBefore: number) => {
    let answer: CountsAnswer;
    try {
      answer = { ok: true, counts: countAll(lateBefore) };
    } catch (error) {
      answer = { ok: false, message: error instanceof Error ? error.message : String(error) };
    }
    port.postMessage(answer);
  });
}
