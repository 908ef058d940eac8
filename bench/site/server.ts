import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { START_FLAGS } from '../../test/support/start-flags.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** The real server in a separate process. */
export interface BenchServer {
  url: string;
  pid: number;
  end(): Promise<void>;
  /** Stops it at once, without waiting for requests in progress. */
  kill(): Promise<void>;
}

/**
 * Starts the server as users do, with a rate limit that is never reached, and a log line for every request. It has its own
 * temporary data folder, unless `env` names one. `main` is the program; default: the TypeScript.
 */
export async function startServer(env: NodeJS.ProcessEnv = {}, main = MAIN): Promise<BenchServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  const child = spawn(process.execPath, [...START_FLAGS, main, 'serve'], {
    env: {
      ...{
        PATH: process.env.PATH,
        DATA_DIR: dataDir,
        PORT: '0',
        PUBLIC_RATE_LIMIT: '1000000',
        SIGNAL_ENCODER: 'off',
      },
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await addressOf(child);
  // The log is written and read, as by a collector, and discarded.
  child.stdout?.resume();
  async function endWith(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    child.kill(signal);
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    rmSync(dataDir, { recursive: true, force: true });
  }
  return {
    url,
    pid: child.pid ?? 0,
    end: () => endWith('SIGTERM'),
    kill: () => endWith('SIGKILL'),
  };
}

function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    const look = (chunk: Buffer) => {
      said += chunk.toString();
      const found = /listens at (http\S+)/.exec(said)?.[1];
      if (found === undefined) return;
      child.stdout?.off('data', look);
      resolve(found);
    };
    child.stdout?.on('data', look);
    child.once('exit', (code) => reject(new Error(`the server exited with ${code} before it listened`)));
  });
}
