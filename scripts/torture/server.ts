import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../test/support/server-process.ts';
import { START_FLAGS } from '../../test/support/start-flags.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const CLOCK = new URL('./skewed-clock.ts', import.meta.url).href;
const START_MS = 60_000;
/** A server's warning about another one on its folder. */
const WARNING = 'another server runs on this data folder';

/** The server under test: one process after the other on the same folder and port. */
export interface Victim {
  readonly url: string;
  readonly pid: number;
  /** Unexpected exits, each with its exit code or signal. */
  readonly deaths: string[];
  /** Starts it, and resolves when it responds. */
  start(): Promise<void>;
  /** Kills it with SIGKILL, and starts a new one. */
  kill(): Promise<void>;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  /** Stops it with SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** Shifts its wall clock by this much. */
  setClock(offsetMs: number): void;
  /** Starts a second server on the same folder; returns whether it exited or served, and whether it warned. */
  second(ms: number): Promise<string>;
  /** Second servers that served without a warning. */
  readonly unwarned: number;
}

export interface VictimParts {
  dataDir: string;
  /** The folder of its log and the clock's offset: not on the disk that will be filled. */
  notes: string;
  /** Null: the store is in the data folder. */
  databaseUrl: string | null;
}

export function serverEnv({ dataDir, notes, databaseUrl }: VictimParts, port: number): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    DATA_DIR: dataDir,
    PORT: String(port),
    LOG_LEVEL: 'warn',
    SIGNAL_ENCODER: 'off',
    PUBLIC_RATE_LIMIT: '1000000',
    WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8',
    TORTURE_CLOCK_FILE: join(notes, 'clock'),
    ...(databaseUrl !== null && { DATABASE_URL: databaseUrl }),
  };
}

export async function createVictim(deps: VictimParts): Promise<Victim> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const log = createWriteStream(join(deps.notes, 'server.log'), { flags: 'a' });
  const deaths: string[] = [];
  let unwarned = 0;
  let child: ChildProcess | null = null;
  let expected = false;

  function launch(onPort: number): ChildProcess {
    const args = ['--import', CLOCK, ...START_FLAGS, MAIN, 'serve'];
    const launched = spawn(process.execPath, args, {
      env: serverEnv(deps, onPort),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    launched.stdout?.pipe(log, { end: false });
    launched.stderr?.pipe(log, { end: false });
    return launched;
  }

  async function start(): Promise<void> {
    const launched = launch(port);
    child = launched;
    expected = false;
    launched.once('exit', (code, signal) => {
      if (expected || child !== launched) return;
      deaths.push(`exited unexpectedly with ${signal ?? code}`);
      void sleep(500).then(start);
    });
    await untilHealthy(launched, url);
  }

  async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const ending = child;
    if (ending === null) return null;
    expected = true;
    ending.kill(signal);
    if (ending.exitCode === null && ending.signalCode === null) await once(ending, 'exit');
    return ending.exitCode;
  }

  return {
    url,
    get pid() {
      return child?.pid ?? 0;
    },
    deaths,
    start,
    async kill() {
      await end('SIGKILL');
      await start();
    },
    signal: (name) => void child?.kill(name),
    stop: () => end('SIGTERM'),
    setClock: (offsetMs) => writeFileSync(join(deps.notes, 'clock'), String(offsetMs)),
    get unwarned() {
      return unwarned;
    },
    async second(ms) {
      const otherPort = await freePort();
      const other = launch(otherPort);
      let said = '';
      other.stdout?.on('data', (chunk: Buffer) => {
        said += chunk.toString();
      });
      const ended = once(other, 'exit');
      await untilHealthy(other, `http://127.0.0.1:${otherPort}`);
      // It warns before it listens, so the warning comes before its first response.
      const warned = said.includes(WARNING);
      await Promise.race([sleep(ms), ended]);
      const refused = other.exitCode ?? other.signalCode;
      if (refused !== null) return `exited with ${refused}`;
      other.kill('SIGTERM');
      await ended;
      if (!warned) unwarned++;
      return `served beside the first one, ${warned ? 'with a warning' : 'WITHOUT A WARNING'}`;
    },
  };
}

/** Also resolves when the process has exited: the caller then starts another one. */
async function untilHealthy(child: ChildProcess, url: string): Promise<void> {
  const until = performance.now() + START_MS;
  while (performance.now() < until && child.exitCode === null && child.signalCode === null) {
    const well = await fetch(`${url}/api/health`, { signal: AbortSignal.timeout(2_000) }).then(
      (response) => response.ok,
      () => false,
    );
    if (well) return;
    await sleep(50);
  }
}
