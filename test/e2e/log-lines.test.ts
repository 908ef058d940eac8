import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { start } from '../cli/process.ts';
import { tempFolder } from '../store/sqlite/temp-folder.ts';
import { freePort, serverEnv } from '../support/server-process.ts';

test('a server logs its start in one line, and in another one why it stopped and how long that took', async () => {
  const env = {
    DATA_DIR: tempFolder(),
    PORT: String(await freePort()),
    SIGNAL_ENCODER: 'off',
    LOG_LEVEL: 'info',
  };
  await using server = start(['serve'], env);
  const [started] = await server.said(/^\{.*"server started".*$/m);
  expect(JSON.parse(started)).toMatchObject({
    level: 30,
    version: packageJson.version,
    node: process.version,
    schema_version: expect.any(Number),
    model_version: expect.stringMatching(/^\d{4}-/),
    encoder: 'off',
    store: 'sqlite',
    data_dir: env.DATA_DIR,
    url: `http://127.0.0.1:${env.PORT}`,
    endpoints_waiting: 0,
    sources_broken_off: 0,
  });
  server.kill('SIGTERM');
  const [stopped] = await server.said(/^\{.*"server stopped".*$/m);
  expect(JSON.parse(stopped)).toMatchObject({
    reason: 'SIGTERM',
    took_ms: expect.any(Number),
    deliveries_in_flight: 0,
    deliveries_cut_off: 0,
  });
  expect((await server.ended).code).toBe(0);
}, 60_000);

test('an unexpected error that ends the server is in its log, with a stack trace', async () => {
  const folder = tempFolder();
  const throwsLater = join(folder, 'throws-later.mjs');
  writeFileSync(
    throwsLater,
    `import { existsSync } from 'node:fs';
     import { isMainThread } from 'node:worker_threads';
     const timer = setInterval(() => {
       if (!isMainThread || !existsSync(${JSON.stringify(join(folder, 'now'))})) return;
       clearInterval(timer);
       throw new RangeError('made up');
     }, 20).unref();`,
  );
  const env = {
    ...{ DATA_DIR: folder, PORT: String(await freePort()), SIGNAL_ENCODER: 'off', LOG_LEVEL: 'info' },
    NODE_OPTIONS: `--import=${pathToFileURL(throwsLater)}`,
  };
  await using server = start(['serve'], env);
  await server.said(/"server started"/);
  writeFileSync(join(folder, 'now'), '');
  const { code, stdout, stderr } = await server.ended;
  const line = stdout.split('\n').find((each) => each.includes('unexpected error')) ?? '{}';
  expect(JSON.parse(line)).toMatchObject({
    level: 60,
    msg: 'unexpected error: the server ends',
    err: { type: 'RangeError', message: 'made up', stack: expect.stringContaining('throws-later.mjs') },
  });
  expect([code, stderr]).toEqual([70, expect.stringContaining('Unexpected error: made up')]);
}, 60_000);

test.skipIf(!existsSync('/dev/full'))(
  'a server whose log has no room starts, serves and stops',
  async () => {
    const port = await freePort();
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, ['src/main.ts', 'serve'], {
      env: { ...serverEnv(tempFolder(), port), LOG_LEVEL: 'info' },
      stdio: ['ignore', full, full],
    });
    closeSync(full);
    const ended = once(child, 'exit');
    onTestFinished(() => void child.kill('SIGKILL'));
    const answers = async () => {
      if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}.`);
      return (await fetch(`http://127.0.0.1:${port}/api/health`).catch(() => null))?.status;
    };
    await expect.poll(answers, { timeout: 50_000 }).toBe(200);
    // What is written at the start, which follows the first responses.
    await expect.poll(async () => (await fetch(`http://127.0.0.1:${port}/ready`)).status).toBe(200);
    expect(await answers()).toBe(200);
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  },
  60_000,
);
