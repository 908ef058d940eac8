import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/support/server-process.ts';
import { readCommand, readDockerfile, readPairs } from './dockerfile.ts';

/*
 * Does what the Dockerfile says in a folder of its own, where there is no builder of images: its COPY and RUN, then its
 * ENTRYPOINT and HEALTHCHECK with its ENV, and a stop. What it cannot tell: whether the base image has what is needed, and
 * that the server need not be root.
 */
const REPOSITORY = resolve(import.meta.dirname, '../..');
const START_MS = 60_000;

const root = mkdtempSync(join(tmpdir(), 'signalpost-image-'));
const inRoot = (path: string, from = '/') => join(root, resolve(from, path));
const { PATH = '', HOME } = process.env;
const env: Record<string, string> = { PATH, HOME: root };
let folder = '/';
let entrypoint: string[] = [];
let health: string[] = [];

function run(command: string): void {
  // The image's own paths and users are not this machine's.
  const here = command.replace(/(^|\s)\/(data|app)\b/g, (_, gap, name) => `${gap}${inRoot(`/${name}`)}`);
  const owned = here.replace(/chown node:node (\S+)/g, 'test -d $1');
  // How this machine reaches the registry, as a builder is told by build arguments; never its cache, which is cleaned.
  const network = { ...process.env, npm_config_cache: join(root, 'npm-cache') };
  const options = { cwd: inRoot(folder), env: { ...network, ...env, HOME: HOME ?? root } };
  const { status } = spawnSync('sh', ['-ec', owned], { ...options, stdio: 'inherit' });
  if (status !== 0) throw new Error(`RUN ${command}: ended with ${status}`);
}

function copy(rest: string): void {
  const names = rest.split(/\s+/).filter((name) => !name.startsWith('--'));
  const target = names.pop() ?? '.';
  const asFolder = target.endsWith('/') || names.length > 1;
  for (const name of names) {
    const to = asFolder ? join(inRoot(target, folder), basename(name)) : inRoot(target, folder);
    cpSync(join(REPOSITORY, name), to, { recursive: true });
  }
}

function enter(path: string): void {
  folder = path;
  mkdirSync(inRoot(path), { recursive: true });
}

function build(): void {
  for (const { word, rest } of readDockerfile(readFileSync(join(REPOSITORY, 'Dockerfile'), 'utf8'))) {
    console.error(`${word} ${rest}`);
    if (word === 'FROM') requireNode(rest);
    else if (word === 'ENV') Object.assign(env, readPairs(rest));
    else if (word === 'WORKDIR') enter(rest);
    else if (word === 'COPY') copy(rest);
    else if (word === 'RUN') run(rest);
    else if (word === 'ENTRYPOINT') entrypoint = readCommand(rest);
    else if (word === 'HEALTHCHECK') health = readCommand(rest);
    else if (!['VOLUME', 'USER', 'EXPOSE', 'LABEL'].includes(word)) throw new Error(`What is ${word}?`);
  }
  for (const name of ['DATA_DIR', 'NODE_COMPILE_CACHE']) env[name] = inRoot(env[name] ?? '/');
}

function requireNode(image: string): void {
  const wanted = /^node:(\d+)/.exec(image)?.[1];
  if (wanted !== process.versions.node.split('.')[0])
    throw new Error(`The image is ${image}, and this is Node ${process.version}.`);
}

function start(command: readonly string[]): ChildProcess {
  const [program = '', ...args] = command;
  return spawn(program, args, { cwd: inRoot(folder), env, stdio: ['ignore', 'inherit', 'inherit'] });
}

async function statusOf(command: readonly string[]): Promise<number | null> {
  const child = start(command);
  const [code] = await once(child, 'exit');
  return code;
}

async function useImage(): Promise<void> {
  env.PORT = String(await freePort());
  const server = start(entrypoint);
  const until = performance.now() + START_MS;
  let healthy = 1;
  while (healthy !== 0 && performance.now() < until && server.exitCode === null) {
    await sleep(500);
    healthy = (await statusOf(health)) ?? 1;
  }
  const named = ['--name', 'Image', '--email', 'image@example.com', '--json'];
  const made = healthy === 0 ? await statusOf([...entrypoint, 'tenant', 'create', ...named]) : null;
  server.kill('SIGTERM');
  const [code] = server.exitCode === null ? await once(server, 'exit') : [server.exitCode];
  const seen = { healthcheck: healthy, tenant_create: made, stop: code };
  console.log(JSON.stringify(seen));
  if (Object.values(seen).some((status) => status !== 0)) process.exitCode = 1;
}

try {
  build();
  await useImage();
} finally {
  rmSync(root, { recursive: true, force: true });
}
