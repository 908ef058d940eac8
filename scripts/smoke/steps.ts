import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

const LIMIT_MS = 60_000;
/** The user `nobody`: as root, who may write anywhere, nothing would be read-only. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const asNobody = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

/** Where a program runs, and with what environment. */
export interface Place {
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/** A server under way, at `url`. */
export interface Running {
  url: string;
  /** Asks it to stop. @throws where it does not end with 0 */
  stop(): Promise<void>;
}

/** Only what a program needs: nothing of npm, and no Node that strips types. */
export function bareEnv(more: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const path = `${dirname(process.execPath)}:${process.env.PATH}`;
  return { PATH: path, HOME: '/nonexistent', NODE_OPTIONS: '--no-strip-types', ...more };
}

/** npm of this machine, on this Node. */
export function npm(args: readonly string[], cwd: string): string {
  const cli = process.env.npm_execpath;
  if (cli === undefined) throw new Error('Run it by npm: npm run smoke.');
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
  return finish([process.execPath, cli, ...args], { cwd, env }, {});
}

/** Runs the installed program to its end, as a user who can write nowhere but in the folders for data. */
export function signalpost(args: readonly string[], place: Place): string {
  return finish([programOf(place), ...args], place, asNobody);
}

function finish([program = '', ...args]: readonly string[], place: Place, user: object): string {
  const options = { ...place, ...user, encoding: 'utf8', timeout: LIMIT_MS, maxBuffer: 1 << 26 } as const;
  const { status, stdout, stderr, error } = spawnSync(program, args, options);
  if (status === 0) return stdout;
  throw new Error(`${program} ${args.join(' ')} ended with ${status}: ${error ?? ''}\n${stdout}\n${stderr}`);
}

function programOf({ cwd }: Place): string {
  return join(cwd, 'node_modules/.bin/signalpost');
}

/** Starts the installed server and resolves when it listens. */
export async function serve(place: Place): Promise<Running> {
  const child = spawn(programOf(place), ['serve'], {
    ...place,
    ...asNobody,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal);
  const url = await Promise.race([
    untilListening(child.stdout, () => said),
    ended.then((how) => Promise.reject(new Error(`The server ended with ${how} at once:\n${said}`))),
    sleep(LIMIT_MS, null, { ref: false }).then(() => {
      child.kill('SIGKILL');
      throw new Error(`The server does not listen:\n${said}`);
    }),
  ]);
  return {
    url,
    stop: async () => {
      child.kill('SIGTERM');
      const how = await ended;
      if (how !== 0) throw new Error(`The server ended with ${how}:\n${said}`);
    },
  };
}

function untilListening(stdout: Readable, said: () => string): Promise<string> {
  return new Promise((resolve) => {
    stdout.on('data', () => {
      const [, url] = /listens at (http\S+)\n/.exec(said()) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
}

/** Calls the API. @throws where the answer is no success */
export async function call(url: string, key: string, path: string, body?: object): Promise<unknown> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(url + path, { headers, signal: AbortSignal.timeout(LIMIT_MS), ...sent });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text;
}
