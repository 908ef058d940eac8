import { writeSync } from 'node:fs';
import { type DestinationStream, pino } from 'pino';
import { type Clock, type Timer, toIso } from './lib/clock.ts';

const GATHERED_CHARS = 16_000;
const LONGEST_WAIT_MS = 200;
/** Maximum length of the lines kept while nothing reads stdout; further ones are dropped. */
const MAX_WAITING_CHARS = 8 * 1024 * 1024;

/** The stream that pino writes to; it is flushed before the process ends. */
export interface LogDestination extends DestinationStream {
  flush(done: (error?: Error) => void): void;
}

/**
 * stdout, written asynchronously and in batches: one system call per line costs as much as the request that the line
 * is about. pino's own batching (`minLength`) measures its whole buffer again for each line: with 16 KB, logging took
 * up to a quarter of the processor time of a health response.
 */
export function createLogDestination(clock: Clock): LogDestination {
  // Without a minimum length, a flush would not wait for a write in progress.
  const stdout = pino.destination({ fd: 1, sync: false, minLength: 1, maxLength: MAX_WAITING_CHARS });
  let lines = '';
  let dropped = 0;
  let timer: Timer | null = null;

  const pass = () => {
    timer?.cancel();
    timer = null;
    if (lines === '') return;
    const gathered = lines;
    lines = '';
    stdout.write(gathered);
  };
  stdout.on('drop', (text: string) => {
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) dropped++;
  });
  stdout.on('drain', () => {
    if (dropped === 0) return;
    const line = {
      level: 40,
      time: toIso(clock.now()),
      dropped,
      msg: 'log lines were dropped: stdout was not read',
    };
    dropped = 0;
    stdout.write(`${JSON.stringify(line)}\n`);
  });
  // However the process ends, its last log lines explain why. An asynchronous write would not be completed.
  process.once('exit', () => {
    attempt(() => stdout.flushSync());
    attempt(() => writeSync(1, lines));
  });

  return {
    write(line) {
      lines += line;
      if (lines.length >= GATHERED_CHARS) pass();
      else timer ??= clock.after(LONGEST_WAIT_MS, pass);
    },
    flush(done) {
      pass();
      stdout.flush(done);
    },
  };
}

function attempt(write: () => void): void {
  try {
    write();
  } catch {
    // The log's reader is gone or too far behind: no reason to change the exit code.
  }
}
