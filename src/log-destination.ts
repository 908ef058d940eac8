import { writeSync } from 'node:fs';
import { type DestinationStream, pino } from 'pino';
import { type Clock, type Timer, toIso } from './lib/clock.ts';

const GATHERED_CHARS = 16_000;
const LONGEST_WAIT_MS = 200;
/** Maximum length of the lines kept while nothing reads stdout; further ones are dropped. */
const MAX_WAITING_CHARS = 8 * 1024 * 1024;
/** A write that takes longer is not waited for when the process ends: nothing reads stdout. */
const STUCK_MS = 1_000;

/** The stream that pino writes to; it is flushed before the process ends. */
export interface LogDestination extends DestinationStream {
  /** `done` is called once the lines so far are written, or stdout has accepted none of them for a second. */
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
  /** When stdout last accepted bytes, or was given some while idle; null: it has none to write. */
  let writingSince: number | null = null;
  /** The last write failed, for example because the disk is full. The lines are kept, and written with the next ones. */
  let hasFailed = false;
  const isStuck = () => writingSince !== null && clock.monotonic() - writingSince >= STUCK_MS;

  const pass = () => {
    timer?.cancel();
    timer = null;
    if (lines === '') return;
    const gathered = lines;
    lines = '';
    writingSince ??= clock.monotonic();
    stdout.write(gathered);
  };
  stdout.on('write', () => {
    writingSince = clock.monotonic();
    hasFailed = false;
  });
  stdout.on('error', () => {
    writingSince = null;
    hasFailed = true;
  });
  stdout.on('drop', (text: string) => {
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) dropped++;
  });
  stdout.on('drain', () => {
    writingSince = null;
    if (dropped === 0) return;
    const line = {
      level: 40,
      time: toIso(clock.now()),
      dropped,
      msg: 'log lines were dropped: stdout was not read',
    };
    dropped = 0;
    writingSince = clock.monotonic();
    stdout.write(`${JSON.stringify(line)}\n`);
  });
  // However the process ends, its last log lines explain why. An asynchronous write would not be completed.
  // Before pino's own listener, which writes synchronously.
  process.prependOnceListener('exit', () => {
    // A synchronous write would never return, nor would Node's exit, which waits for the thread with the write in progress.
    if (isStuck()) process.kill(process.pid, 'SIGKILL');
    // It tries again after every error, and the process would never end.
    if (hasFailed) stdout.destroy();
    else attempt(() => stdout.flushSync());
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
      const watch = () => {
        if (isStuck()) done();
        else watching = clock.after(STUCK_MS, watch);
      };
      let watching = clock.after(STUCK_MS, watch);
      stdout.flush((error) => {
        watching.cancel();
        done(error);
      });
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
