import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../lib/clock.ts';
import { DomainError, type ErrorCode, type ProblemExtra } from '../../model/errors.ts';
import { openDatabase } from './database.ts';
import type { Operations } from './operations.ts';
import { createInlineWriter } from './writer.ts';

/** What the thread is started with. */
export interface WriterData {
  file: string;
  busyTimeoutMs: number;
}

/** One change asked for. */
export interface Call {
  id: number;
  name: keyof Operations;
  args: unknown[];
}

/** What became of a {@link Call}, after its COMMIT. An error that is no `DomainError` has no code. */
export interface Answer {
  id: number;
  value: unknown;
  error: { code: ErrorCode | null; message: string; stack: string | undefined; extra: ProblemExtra } | null;
}

if (parentPort !== null) serve(parentPort, workerData as WriterData);

function serve(port: NonNullable<typeof parentPort>, { file, busyTimeoutMs }: WriterData): void {
  const db = openDatabase(file, { busyTimeoutMs });
  const writer = createInlineWriter({ db, clock: systemClock, flushDelayMs: 0 });
  let answers: Answer[] = [];

  /** All answers of one commit go back in one message. */
  function answer(result: Answer): void {
    if (answers.length === 0) setImmediate(flush);
    answers.push(result);
  }

  function flush(): void {
    const results = answers;
    answers = [];
    if (results.length > 0) port.postMessage(results);
  }

  async function close(): Promise<void> {
    await writer.close();
    await new Promise((resolve) => setImmediate(resolve));
    flush();
    db.close();
    port.close();
  }

  port.on('message', (message: Call[] | 'close') => {
    if (message === 'close') {
      void close();
      return;
    }
    for (const { id, name, args } of message) {
      writer.run(name, ...(args as Parameters<Operations[typeof name]>)).then(
        (value) => answer({ id, value, error: null }),
        (error: unknown) => answer({ id, value: null, error: describe(error) }),
      );
    }
  });
}

function describe(error: unknown): Answer['error'] {
  if (error instanceof DomainError) {
    return { code: error.code, message: error.message, stack: error.stack, extra: error.extra };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { code: null, message, stack, extra: {} };
}
