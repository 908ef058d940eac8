import { strict as assert } from 'node:assert';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { bareEnv, npm, type Place, run, useServer } from './steps.ts';

/*
 * Packs, installs the package into an empty folder with an odd name, and uses what is there: the demo, the command line,
 * the server with all of its threads, backup and restore. Node strips no types meanwhile, and nothing but the folders for data can
 * be written.
 */
/** The user `nobody`: root may write anywhere, and nothing would be read-only. */
const NOBODY = { uid: 65_534, gid: 65_534 };
const isRoot = process.getuid?.() === 0;
const REPOSITORY = resolve(import.meta.dirname, '../..');

/** What npm says of a package that it has packed. */
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
  // A list up to npm 11, by names of packages from 12 on.
  const listed = npm(['pack', '--json', '--pack-destination', root], REPOSITORY);
  const [packed] = Object.values<Packed>(JSON.parse(listed));
  assert.ok(packed);
  const names = packed.files.map(({ path }) => path);
  const typescript = names.filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'));
  assert.deepEqual(typescript, [], 'the package holds TypeScript');
  const foreign = names.filter((name) => /^(?:src|test|bench|scripts|node_modules)\//.test(name));
  assert.deepEqual(foreign, [], 'the package holds what only the repository needs');
  const [size, unpacked] = [packed.size, packed.unpackedSize].map((bytes) => Math.round(bytes / 1e6));
  say(`packed: ${names.length} files, ${size} MB, ${unpacked} MB unpacked`);
  return join(root, packed.filename);
}

function install(archive: string): void {
  // What npm ci brought is in npm's cache; no script of a package is needed.
  npm(['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', archive], home);
  say('installed');
}

/** One folder for each use, which the program's user owns. */
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
  say(`${named.trim()}: the demo's deliveries came, its sources were read`);
}

/** As another program would: by the package's name, from its own folder. */
function importClient(): void {
  const script =
    "import { createClient, verifyWebhook } from 'signalpost/client'; console.log(typeof createClient, typeof verifyWebhook)";
  const node: Place = { ...placeOf('none'), program: [process.execPath] };
  assert.equal(run(['--input-type=module', '--eval', script], node), 'function function\n');
  say('the client is imported');
}

async function backUp(): Promise<string> {
  const place = placeOf('live');
  const backup = join(dataFolder('backups'), 'smoke.db');
  await useServer(place, () => assert.match(run(['backup', backup, '--with-key'], place), /checked/));
  assert.match(run(['check'], place), /is sound/);
  say('the server took, found and backed a signal up, with the encoder, and stopped');
  return backup;
}

function restore(backup: string): void {
  const place = placeOf('restored');
  assert.match(run(['restore', backup], place), /The master key was restored from the backup/);
  assert.match(run(['check'], place), /is sound/);
  assert.match(run(['tenant', 'list'], place), /Smoke/);
  say('the backup is restored');
}

/** As after `npm install --omit=optional`, which would take another half of the time. */
function useWords(): void {
  for (const name of ['onnxruntime-node', '@huggingface']) {
    rmSync(join(home, 'node_modules', name), { recursive: true });
  }
  const shown = run(['demo', '--once'], placeOf('none'));
  assert.match(shown, /All \d+ deliveries/);
  say('without optional packages words alone decide');
}

try {
  chmodSync(root, 0o755); // what is installed is another user's
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
