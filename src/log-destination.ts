import { writeSync } from 'node:fs';
import { type DestinationStream, pino } from 'pino';
import type { Clock, Timer } from './lib/clock.ts';

const GATHERED_CHARS = 16_000;
const LONGEST_WAIT_MS = 200;

/** What pino writes to, and flushes before the process ends. */
export interface LogDestination extends DestinationStream {
  flush(done: (error?: Error) => void): void;
}

/**
 * stdout, written asynchronously and many lines at a time: a system call for each line costs as much as the request it
 * tells of. pino's own gathering (`minLength`) measures all that it holds again at each line: with 16 KB of it the log
 * took up to a quarter of the processor time of a health answer.
 */
export function createLogDestination(clock: Clock): LogDestination {
  // With no least length a flush would not wait for what is being written.
  const stdout = pino.destination({ fd: 1, sync: false, minLength: 1 });
  let lines = '';
  let timer: Timer | null = null;

  const pass = () => {
    timer?.cancel();
    timer = null;
    if (lines === '') return;
    const gathered = lines;
    lines = '';
    stdout.write(gathered);
  };
  // Whatever ends the process, its last lines are those that tell why. A write begun now would not be waited for.
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
    // The log is no longer read, or its reader is too far behind: no reason to change the exit code.
  }
}
