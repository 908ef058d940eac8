import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { COMPILE_CACHE } from './compile-cache.ts';
import { START_FLAGS } from './start-flags.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const START_MS = 120_000;

/** A real server process on a given data folder. */
export interface ServerProcess {
  url: string;
  pid: number;
  /** Its complete output so far: the log, and any crash report. */
  output(): string;
  /** Whether it has ended for any reason. */
  hasEnded(): boolean;
  /** Sends SIGKILL, and waits until the process has ended. */
  kill(): Promise<void>;
  /** Sends SIGTERM; resolves with the exit code. */
  terminate(): Promise<number | null>;
  /** Suspends it, as on a sleeping machine, until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Its resident memory in bytes. */
  residentBytes(): number;
}

/** The environment of every test process: its own data folder, loopback receivers allowed, no log. */
export function serverEnv(dataDir: string, port: number): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    // Separate tests start the encoder; all others need not wait for it.
    SIGNAL_ENCODER: 'off',
    DATA_DIR: dataDir,
    PORT: String(port),
    LOG_LEVEL: 'warn',
    WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8',
  };
}

/** A port that has just been free. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Starts the server, with `env` in addition to the common settings; resolves when it responds on its port. */
export async function startServerProcess(
  dataDir: string,
  port: number,
  env: NodeJS.ProcessEnv = {},
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [...START_FLAGS, MAIN, 'serve'], {
    env: { ...serverEnv(dataDir, port), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output: string[] = [];
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => output.push(chunk.toString()));
  const url = `http://127.0.0.1:${port}`;
  await untilHealthy(child, url, output);
  return {
    url,
    pid: child.pid ?? 0,
    output: () => output.join(''),
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    kill: async () => {
      child.kill('SIGKILL');
      await ended(child);
    },
    terminate: async () => {
      child.kill('SIGTERM');
      return ended(child);
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    residentBytes: () => residentBytes(child.pid),
  };
}

function residentBytes(pid: number | undefined): number {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1_024;
}

/** Runs a command, and returns its output. @throws unless it exits with 0 */
export async function runCommand(args: string[], env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const code = await ended(child);
  if (code !== 0) throw new Error(`"${args.join(' ')}" exited ${code}: ${stderr}`);
  return stdout;
}

async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  return child.exitCode;
}

async function untilHealthy(child: ChildProcess, url: string, output: string[]): Promise<void> {
  const deadline = Date.now() + START_MS;
  while (Date.now() < deadline && child.exitCode === null) {
    const healthy = await fetch(`${url}/api/health`).then(
      (response) => response.ok,
      () => false,
    );
    if (healthy) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  child.kill('SIGKILL');
  throw new Error(`the server did not start: ${output.join('')}`);
}
