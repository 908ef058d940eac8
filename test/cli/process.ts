import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMPILE_CACHE } from '../support/compile-cache.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const LIMIT_MS = 60_000;

/** How a process ended, with its complete output. */
export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A running process. */
export interface Running {
  /** Resolves with the match once stdout contains it; rejects if the process ends or a minute passes first. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
  /** The same for stderr. */
  heard(pattern: RegExp): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
  /** The same for the whole process group; the program must have its own. */
  killGroup(signal: NodeJS.Signals): void;
  ended: Promise<Ended>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts the real program; its environment consists only of PATH and what is given here. */
export function start(args: string[], env: NodeJS.ProcessEnv = {}): Running {
  return startProgram(process.execPath, [MAIN, ...args], env);
}

/** The same for a script in package.json, started like a user would. */
export function startScript(script: string, env: NodeJS.ProcessEnv = {}, ownGroup = false): Running {
  const args = ['run', '--silent', script];
  return startProgram('npm', args, { HOME: process.env.HOME, ...env }, ownGroup);
}

/** Runs a module given as text, which can import anything by absolute path. */
export function startScriptText(text: string): Running {
  return startProgram(process.execPath, ['--input-type=module', '--eval', text], {});
}

function startProgram(program: string, args: string[], env: NodeJS.ProcessEnv, ownGroup = false): Running {
  const child = spawn(program, args, {
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      SIGNAL_ENCODER: 'off',
      LOG_LEVEL: 'warn',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: ownGroup,
  });
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    said.stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    said.stderr += chunk.toString();
  });
  const ended = once(child, 'close').then(([code]) => ({ code, ...said }));
  return {
    ended,
    kill: (signal) => void child.kill(signal),
    killGroup: (signal) => void process.kill(-Number(child.pid), signal),
    said: (pattern) => waitFor(child, () => pattern.exec(said.stdout), said),
    heard: (pattern) => waitFor(child, () => pattern.exec(said.stderr), said),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && ownGroup) process.kill(-Number(child.pid), 'SIGKILL');
      else if (child.exitCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Runs the real program to its end. */
export async function run(args: string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  await using running = start(args, env);
  return await running.ended;
}

/** A folder for the current test, removed after it. */
export function temporaryFolder(): { path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), 'signalpost-cli-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

function waitFor<T>(child: ChildProcess, look: () => T | null, said: object): Promise<T> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      clearTimeout(timer);
      child.stdout?.off('data', check);
      child.stderr?.off('data', check);
      child.off('close', gone);
      act();
    };
    const check = () => {
      const found = look();
      if (found !== null) settle(() => resolve(found));
    };
    const giveUp = (why: string) => settle(() => reject(new Error(`${why}: ${JSON.stringify(said)}`)));
    const gone = () => giveUp('the process ended first');
    const timer = setTimeout(() => giveUp('not said in time'), LIMIT_MS);
    child.stdout?.on('data', check);
    child.stderr?.on('data', check);
    child.on('close', gone);
    check();
  });
}
