import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { start } from '../cli/process.ts';
import { tempFolder } from '../store/sqlite/temp-folder.ts';
import { freePort } from '../support/server-process.ts';

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
