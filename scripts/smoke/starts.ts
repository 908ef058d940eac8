import { strict as assert } from 'node:assert';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { call, type Place, run, serve } from './steps.ts';

/*
 * Repeatedly starts the built server and stops it under load: posts for the encoder's and the writer's threads,
 * searches and counts for theirs. Every process must exit with 0, none by a signal, and every accepted post must be stored.
 */
const cwd = resolve(import.meta.dirname, '../..');
const starts = Number(process.argv[2] ?? 100);
const CALLERS = 8;
assert.ok(starts > 0, 'Usage: npm run smoke:starts -- [HOW OFTEN]');
assert.ok(existsSync(join(cwd, 'dist/main.js')), 'There is no dist: npm run build.');

const folder = mkdtempSync(join(tmpdir(), 'signalpost-starts-'));
const env = { PATH: process.env.PATH, DATA_DIR: folder, PORT: '0', LOG_LEVEL: 'error' };
const place: Place = { program: [process.execPath, '--max-semi-space-size=16', 'dist/main.js'], cwd, env };
let stored = 0;

function postOf(start: number, caller: number, turn: number): object {
  const text = `Looking for booking tool number ${start}-${caller}-${turn} for our plumbing firm. Recommendations?`;
  return { platform: { name: 'reddit' }, external_id: `${start}-${caller}-${turn}`, text };
}

/** Sends requests until the server is gone; only then may a request fail. */
async function ask(url: string, key: string, start: number, caller: number, isStopping: () => boolean) {
  for (let turn = 0; ; turn++) {
    try {
      await call(url, key, '/v1/signals', postOf(start, caller, turn));
      stored++;
      await call(url, key, caller % 2 === 0 ? '/v1/signals?q=%22booking+tool%22' : '/metrics');
    } catch (error) {
      if (isStopping()) return;
      if (!String(error).includes(': 503 ')) throw error; // overloaded; the next request follows at once
    }
  }
}

try {
  const named = ['--name', 'Starts', '--email', 's@example.com', '--plan', 'enterprise', '--json'];
  const { api_key: key } = JSON.parse(run(['tenant', 'create', ...named], place));
  const began = performance.now();
  for (let start = 1; start <= starts; start++) {
    const server = await serve(place);
    let stopping = false;
    const callers = Array.from({ length: CALLERS }, (_, i) => ask(server.url, key, start, i, () => stopping));
    const before = stored;
    while (stored < before + 2 * CALLERS) await Promise.race([...callers, new Promise(setImmediate)]);
    stopping = true;
    await server.stop();
    await Promise.all(callers);
    if (start % 10 === 0)
      console.log(`${start} starts, ${stored} posts, ${Math.round((performance.now() - began) / 1_000)} s`);
  }
  assert.match(run(['check'], place), /is sound/);
  console.log(`${starts} starts and stops under load: every process exited with 0.`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
