import { strict as assert } from 'node:assert';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { bareEnv, npm, type Place, run, useServer } from './steps.ts';

/*
 * Packs the package, installs it into an empty folder with an unusual name, and uses it: the demo, the command line,
 * the server with all of its threads, backup and restore. Node does not strip types, and only the data folders
 * are writable.
 */
/** The user `nobody`: root can write anywhere, so nothing would be read-only. */
const NOBODY = { uid: 65_534, gid: 65_534 };
const isRoot = process.getuid?.() === 0;
const REPOSITORY = resolve(import.meta.dirname, '../..');

/** npm's description of a packed package. */
interface Packed {
  filename: string;
  size: number;
  unpackedSize: number;
  files: { path: string }[];
}

const root = mkdtempSync(join(tmpdir(), 'signalpost-smoke-'));
const home = join(root, 'Füße & Co (1)');
const data = join(root, 'data');
const started = performance.now();

function say(text: string): void {
  console.log(`${((performance.now() - started) / 1_000).toFixed(1).padStart(5)} s  ${text}`);
}

function pack(): string {
  // An array up to npm 11, an object by package name from npm 12 on.
  const listed = npm(['pack', '--json', '--pack-destination', root], REPOSITORY);
  const [packed] = Object.values<Packed>(JSON.parse(listed));
  assert.ok(packed);
  const names = packed.files.map(({ path }) => path);
  const typescript = names.filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'));
  assert.deepEqual(typescript, [], 'the package contains TypeScript');
  const foreign = names.filter((name) => /^(?:src|test|bench|scripts|node_modules)\//.test(name));
  assert.deepEqual(foreign, [], 'the package contains files that only the repository needs');
  const [size, unpacked] = [packed.size, packed.unpackedSize].map((bytes) => Math.round(bytes / 1e6));
  say(`packed: ${names.length} files, ${size} MB, ${unpacked} MB unpacked`);
  return join(root, packed.filename);
}

function install(archive: string): void {
  // Everything that npm ci installed is in npm's cache; no package's install script is needed.
  npm(['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', archive], home);
  say('installed');
}

/** A folder for each use, owned by the program's user. */
function dataFolder(name: string): string {
  const folder = join(data, name);
  mkdirSync(folder, { recursive: true });
  if (isRoot) chownSync(folder, NOBODY.uid, NOBODY.gid);
  return folder;
}

function placeOf(name: string): Place {
  const [DATA_DIR, TMPDIR] = [dataFolder(name), dataFolder('tmp')];
  return {
    program: [join(home, 'node_modules/.bin/signalpost')],
    cwd: home,
    env: bareEnv({ DATA_DIR, TMPDIR, PORT: '0' }),
    ...(isRoot && { user: NOBODY }),
  };
}

function showDemo(): void {
  const { version } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'));
  const named = run(['--version'], placeOf('none'));
  assert.match(
    named,
    new RegExp(`^${version.replaceAll('.', '\\.')} \\(schema \\d+, model \\d{4}-\\d\\d-\\d\\d\\)\n$`),
  );
  const shown = run(['demo', '--once', '--sources'], placeOf('none'));
  assert.match(shown, /All \d+ deliveries of warm and hot signals arrived and were verified\./);
  say(`${named.trim()}: the demo's deliveries arrived, and its sources were read`);
}

/** Like another program: by the package's name, from its own folder. */
function importClient(): void {
  const script =
    "import { createClient, verifyWebhook } from 'signalpost/client'; console.log(typeof createClient, typeof verifyWebhook)";
  const node: Place = { ...placeOf('none'), program: [process.execPath] };
  assert.equal(run(['--input-type=module', '--eval', script], node), 'function function\n');
  say('the client can be imported');
}

async function backUp(): Promise<string> {
  const place = placeOf('live');
  const backup = join(dataFolder('backups'), 'smoke.db');
  await useServer(place, () => assert.match(run(['backup', backup, '--with-key'], place), /checked/));
  assert.match(run(['check'], place), /is sound/);
  say('the server stored, found and backed up a signal, with the encoder, and stopped');
  return backup;
}

function restore(backup: string): void {
  const place = placeOf('restored');
  assert.match(run(['restore', backup], place), /The master key was restored from the backup/);
  assert.match(run(['check'], place), /is sound/);
  assert.match(run(['tenant', 'list'], place), /Smoke/);
  say('the backup was restored');
}

/** As after `npm install --omit=optional`, which would take half as long again. */
function useWords(): void {
  for (const name of ['onnxruntime-node', '@huggingface']) {
    rmSync(join(home, 'node_modules', name), { recursive: true });
  }
  const shown = run(['demo', '--once'], placeOf('none'));
  assert.match(shown, /All \d+ deliveries/);
  say('without optional packages, scores are based on words alone');
}

try {
  chmodSync(root, 0o755); // the installed files belong to another user
  mkdirSync(home);
  writeFileSync(join(home, 'package.json'), '{}');
  install(pack());
  showDemo();
  importClient();
  restore(await backUp());
  useWords();
} finally {
  rmSync(root, { recursive: true, force: true });
}
