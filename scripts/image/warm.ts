import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Place, run, useServer } from '../smoke/steps.ts';

/* Compiles the program with all of its threads into NODE_COMPILE_CACHE, with the options with which the image starts it. */
const cwd = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'signalpost-warm-'));
const { PATH, NODE_COMPILE_CACHE } = process.env;
const env = { PATH, NODE_COMPILE_CACHE, DATA_DIR: folder, PORT: '0' };
const place: Place = { program: [process.execPath, '--max-semi-space-size=16', 'dist/main.js'], cwd, env };
try {
  run(['demo', '--once', '--sources'], place);
  await useServer(place, () => run(['backup', join(folder, 'backup.db')], place));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
