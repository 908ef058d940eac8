import { strict as assert } from 'node:assert';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

const LIMIT_MS = 60_000;

/** A program with its working folder, its environment, and its user if it is not the current one. */
export interface Place {
  program: readonly [string, ...string[]];
  cwd: string;
  env: NodeJS.ProcessEnv;
  user?: { uid: number; gid: number };
}

/** A running server at `url`. */
export interface Running {
  url: string;
  /** Stops it. @throws if it does not exit with 0 */
  stop(): Promise<void>;
}

/** Only the variables that a program needs: none of npm's, and no type stripping in Node. */
export function bareEnv(more: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const path = `${dirname(process.execPath)}:${process.env.PATH}`;
  return { PATH: path, HOME: '/nonexistent', NODE_OPTIONS: '--no-strip-types', ...more };
}

/** This machine's npm, run by the current Node. */
export function npm(args: readonly string[], cwd: string): string {
  const cli = process.env.npm_execpath;
  if (cli === undefined) throw new Error('Start it with npm: npm run smoke.');
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
  return run(args, { program: [process.execPath, cli], cwd, env });
}

/** Runs the program until it exits. @throws if it does not exit with 0 */
export function run(args: readonly string[], { program, cwd, env, user }: Place): string {
  const [file, ...first] = program;
  const options = { cwd, env, ...user, encoding: 'utf8', timeout: LIMIT_MS, maxBuffer: 1 << 26 } as const;
  const { status, stdout, stderr, error } = spawnSync(file, [...first, ...args], options);
  if (status === 0) return stdout;
  throw new Error(`${file} ${args.join(' ')} ended with ${status}: ${error ?? ''}\n${stdout}\n${stderr}`);
}

/** Starts the program as a server, and resolves when it listens. */
export async function serve({ program, cwd, env, user }: Place): Promise<Running> {
  const [file, ...first] = program;
  const child = spawn(file, [...first, 'serve'], { cwd, env, ...user, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal);
  const url = await Promise.race([
    untilListening(child.stdout, () => said),
    ended.then((how) => Promise.reject(new Error(`The server exited with ${how} at once:\n${said}`))),
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
      if (how !== 0) throw new Error(`The server exited with ${how}:\n${said}`);
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

/** Calls the API. @throws if the response is not a success */
export async function call(url: string, key: string, path: string, body?: object): Promise<unknown> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(url + path, { headers, signal: AbortSignal.timeout(LIMIT_MS), ...sent });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text;
}

const POST = {
  platform: { name: 'reddit' },
  text: 'Looking for a new booking tool for our plumbing firm, need it by Friday. Any recommendations?',
};

/**
 * Starts a server on a new folder, creates a tenant, and stores, scores, searches and counts a post, so that every
 * thread does some work; `meanwhile` runs before the server is stopped.
 */
export async function useServer(place: Place, meanwhile: () => void): Promise<void> {
  const named = ['--name', 'Smoke', '--email', 'smoke@example.com', '--json'];
  const { api_key: key } = JSON.parse(run(['tenant', 'create', ...named], place));
  const server = await serve(place);
  try {
    const me = (await call(server.url, key, '/v1/me')) as { data: { scoring: { encoder: string } } };
    assert.equal(me.data.scoring.encoder, 'on');
    const posted = (await call(server.url, key, '/v1/signals', POST)) as { data: { status: string } };
    assert.equal(posted.data.status, 'created');
    const found = (await call(server.url, key, '/v1/signals?q=%22booking+tool%22')) as { data: unknown[] };
    assert.equal(found.data.length, 1, 'the search returned nothing');
    assert.match(String(await call(server.url, key, '/metrics')), /signalpost_signals_total/);
    run(['health', '--ready', '--base-url', server.url], place);
    meanwhile();
  } finally {
    await server.stop();
  }
}
