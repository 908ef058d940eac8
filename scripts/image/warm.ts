import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Place, run, useServer } from '../smoke/steps.ts';

/* Has the program compiled, every thread of it, into NODE_COMPILE_CACHE: with the options that the image starts it with. */
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
