import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/support/server-process.ts';
import { readCommand, readDockerfile, readPairs } from './dockerfile.ts';

/*
 * Runs the Dockerfile in plain folders, for machines without an image builder: its stages with COPY and RUN, then its
 * ENTRYPOINT and HEALTHCHECK with its ENV, and a stop. The size of a layer is the size of the files that its step adds. If run as
 * root, the server runs as nobody, who can write only to /data. Not covered: whether the base image has everything needed, and its
 * size.
 */
const REPOSITORY = resolve(import.meta.dirname, '../..');
const START_MS = 60_000;
const MOST_MB = 350;
/** The size of debian:trixie-slim for amd64 in `docker image ls`; for arm64, it is a fifth larger. */
const BASE_MB = 79;
const NODE = '/usr/local/bin/node';
const isRoot = process.getuid?.() === 0;
const NOBODY = { uid: 65_534, gid: 65_534 };

const home = mkdtempSync(join(tmpdir(), 'signalpost-image-'));
chmodSync(home, 0o755);
/** Every stage is built at the same path, as in a builder: the compile cache is keyed by path. */
const root = join(home, 'root');
const inRoot = (path: string, from = '/') => join(root, resolve(from, path));
const { PATH = '' } = process.env;
const layers: { step: string; bytes: number }[] = [];
let stage = newStage('');

function newStage(name: string) {
  mkdirSync(root, { mode: 0o755 });
  const env: Record<string, string> = { PATH };
  return { name, env, folder: '/', asUser: false, entrypoint: [] as string[], health: [] as string[] };
}

/** Translates paths of the image to local ones. */
function here(text: string): string {
  return text.replace(/(^|\s)(\/(?:data|app|usr\/local\/bin)\b)/g, (_, gap, path) => gap + inRoot(path));
}

function environment(): Record<string, string> {
  return Object.fromEntries(Object.entries(stage.env).map(([name, value]) => [name, here(value)]));
}

function run(command: string): void {
  const owned = here(command)
    .replace(/useradd [^&]*&& /, '')
    .replace(/chown node:node (\S+)/g, isRoot ? `chown ${NOBODY.uid}:${NOBODY.gid} $1` : 'test -d $1');
  // The registry settings of this machine, which a builder receives as build arguments.
  const env = { ...process.env, ...environment() };
  const user = stage.asUser && isRoot ? { ...NOBODY, env: environment() } : { env };
  const options = { cwd: inRoot(stage.folder), ...user, stdio: 'inherit' } as const;
  const { status } = spawnSync('sh', ['-ec', owned], options);
  if (status !== 0) throw new Error(`RUN ${command}: ended with ${status}`);
}

function copy(rest: string): void {
  const words = rest.split(/\s+/);
  const [, from] = words.map((word) => /^--from=(.+)$/.exec(word)).find((match) => match !== null) ?? [];
  const names = words.filter((word) => !word.startsWith('--'));
  const target = names.pop() ?? '.';
  const asFolder = target.endsWith('/') || names.length > 1;
  for (const name of names) {
    const to = asFolder ? join(inRoot(target, stage.folder), basename(name)) : inRoot(target, stage.folder);
    // The Node of the build's base image is the current one.
    const source =
      name === NODE ? process.execPath : join(from === undefined ? REPOSITORY : join(home, from), name);
    mkdirSync(dirname(to), { recursive: true });
    cpSync(source, to, { recursive: true });
  }
}

function begin(rest: string): void {
  const [image = '', , name = 'image'] = rest.split(/\s+/);
  const [, wanted] = /^node:(\d+)/.exec(image) ?? [];
  if (wanted !== undefined && wanted !== process.versions.node.split('.')[0])
    throw new Error(`The image is ${image}, and this is Node ${process.version}.`);
  renameSync(root, join(home, stage.name === '' ? 'nothing' : stage.name));
  stage = newStage(name);
  layers.length = 0;
}

function enter(path: string): void {
  stage.folder = path;
  mkdirSync(inRoot(path), { recursive: true });
}

function sizeOf(folder: string): number {
  return globSync(join(folder, '**/{*,.*}'))
    .map((path) => lstatSync(path))
    .reduce((sum, file) => sum + (file.isDirectory() ? 0 : file.size), 0);
}

function build(): void {
  for (const { word, rest } of readDockerfile(readFileSync(join(REPOSITORY, 'Dockerfile'), 'utf8'))) {
    console.error(`${word} ${rest}`);
    const before = word === 'COPY' || word === 'RUN' ? sizeOf(root) : 0;
    if (word === 'FROM') begin(rest);
    else if (word === 'ENV') Object.assign(stage.env, readPairs(rest));
    else if (word === 'WORKDIR') enter(rest);
    else if (word === 'COPY') copy(rest);
    else if (word === 'RUN') run(rest);
    else if (word === 'USER') stage.asUser = true;
    else if (word === 'ENTRYPOINT') stage.entrypoint = readCommand(rest);
    else if (word === 'HEALTHCHECK') stage.health = readCommand(rest);
    else if (!['VOLUME', 'EXPOSE', 'LABEL'].includes(word)) throw new Error(`Unknown instruction ${word}.`);
    if (word === 'COPY' || word === 'RUN')
      layers.push({ step: `${word} ${rest}`, bytes: sizeOf(root) - before });
  }
}

function showLayers(): void {
  const line = (megabytes: number, text: string) =>
    console.log(`${megabytes.toFixed(1).padStart(7)} MB  ${text.slice(0, 90)}`);
  line(BASE_MB, 'debian:trixie-slim, not checked here');
  for (const { step, bytes } of layers) line(bytes / 1e6, step);
  const total = layers.reduce((sum, { bytes }) => sum + bytes / 1e6, BASE_MB);
  line(total, `total, unpacked; the target is ${MOST_MB}`);
  if (total > MOST_MB) process.exitCode = 1;
}

function start(command: readonly string[]): ChildProcess {
  const [program = '', ...args] = command.map(here);
  const options = { cwd: inRoot(stage.folder), env: environment(), ...(isRoot && NOBODY) };
  return spawn(program, args, { ...options, stdio: ['ignore', 'inherit', 'inherit'] });
}

async function statusOf(command: readonly string[]): Promise<number | null> {
  const child = start(command);
  const [code] = await once(child, 'exit');
  return code;
}

async function useImage(): Promise<void> {
  stage.env.PORT = String(await freePort());
  const server = start(stage.entrypoint);
  const until = performance.now() + START_MS;
  let healthy = 1;
  while (healthy !== 0 && performance.now() < until && server.exitCode === null) {
    await sleep(500);
    healthy = (await statusOf(stage.health)) ?? 1;
  }
  const named = ['--name', 'Image', '--email', 'image@example.com', '--json'];
  const made = healthy === 0 ? await statusOf([...stage.entrypoint, 'tenant', 'create', ...named]) : null;
  server.kill('SIGTERM');
  const [code] = server.exitCode === null ? await once(server, 'exit') : [server.exitCode];
  const seen = { healthcheck: healthy, tenant_create: made, stop: code };
  console.log(JSON.stringify(seen));
  if (Object.values(seen).some((status) => status !== 0)) process.exitCode = 1;
}

try {
  build();
  showLayers();
  await useImage();
} finally {
  rmSync(home, { recursive: true, force: true });
}
