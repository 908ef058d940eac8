import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { observedPostSchema } from '../../src/model/signal.ts';
import { freePort } from '../support/server-process.ts';
import { run, start, temporaryFolder } from './process.ts';

test('every sample is a post that the API accepts', () => {
  const lines = readFileSync('data/samples.jsonl', 'utf8').trim().split('\n');
  expect(lines).toHaveLength(14);
  for (const line of lines) expect(observedPostSchema.safeParse(JSON.parse(line)).error).toBeUndefined();
});

test('demo --once scores every sample, reads a site, verifies every delivery, removes its data and exits with 0', async () => {
  using folder = temporaryFolder();
  const { code, stdout, stderr } = await run(['demo', '--once', '--sources'], { TMPDIR: folder.path });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.match(/(Forum|Jobs): \d new posts?, \d signals?/g)).toEqual([
    ...['Forum: 4 new posts, 2 signals', 'Jobs: 2 new posts, 1 signal', 'Forum: 1 new post, 1 signal'],
  ]);
  expect(stdout.match(/^ *\d+ {2}(HOT|warm|cold) /gm)).toHaveLength(14);
  // A cold signal shows what counts against it, not that it "asks for something to buy +21".
  expect(stdout.match(/^ *\d+ {2}cold .* -\d+$/gm)).toHaveLength(
    stdout.match(/^ *\d+ {2}cold /gm)?.length ?? 0,
  );
  const wanted = (stdout.match(/^ *\d+ {2}(HOT|warm) /gm)?.length ?? 0) + 4;
  expect(wanted).toBeGreaterThan(7);
  expect(stdout.match(/→ .* verified .* attempt 1 /g)).toHaveLength(wanted);
  expect(stdout).toContain(`All ${wanted} deliveries`);
  expect(readdirSync(folder.path)).toEqual([]);
});

test('demo delivers one more signal that its curl line describes, until Ctrl-C', async () => {
  using folder = temporaryFolder();
  const temporary = join(folder.path, 'tmp');
  mkdirSync(temporary);
  await using demo = start(['demo'], { TMPDIR: temporary });
  const [, url, authorization, body] = await demo.said(
    /curl -sS -X POST (\S+) \\\n {2}-H '(Authorization: Bearer \S+)' \\\n.*\n {2}-d '(.*)'/,
  );
  const [name = '', value = ''] = (authorization ?? '').split(': ');
  const headers = { [name]: value, 'content-type': 'application/json' };
  // Whenever the demo is run: posts that are weeks old are cold.
  const samples = await fetch(`${new URL(url ?? '').origin}/v1/signals?limit=50`, { headers });
  const { data: seen } = (await samples.json()) as { data: { platform: { posted_at: string } }[] };
  const ages = seen.map(({ platform }) => Date.now() - Date.parse(platform.posted_at));
  expect(ages).toHaveLength(14);
  expect(Math.min(...ages)).toBeGreaterThan(0);
  expect(Math.max(...ages)).toBeLessThan(24 * 3_600_000);
  const answer = await fetch(url ?? '', { method: 'POST', headers, body: body ?? '' });
  expect(answer.status).toBe(201);
  const { data } = (await answer.json()) as { data: { signals: [{ signal_id: string }] } };
  await demo.said(new RegExp(`verified {2}signal\\.detected ${data.signals[0].signal_id}`));
  demo.kill('SIGINT');
  expect((await demo.ended).code).toBe(0);
  expect(existsSync(temporary) && readdirSync(temporary)).toEqual([]);
});

test('demos started at the same time get separate ports', async () => {
  using folder = temporaryFolder();
  const env = { TMPDIR: folder.path };
  const demos = await Promise.all([1, 2].map(() => run(['demo', '--once'], env)));
  expect(demos.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
    demos.map(() => ({ code: 0, stderr: '' })),
  );
});

test('demo runs its server on PORT, and reports if that is in use', async () => {
  using folder = temporaryFolder();
  const env = { TMPDIR: folder.path, PORT: String(await freePort()) };
  await using demo = start(['demo'], env);
  await demo.said(new RegExp(`The server is at http://127\\.0\\.0\\.1:${env.PORT}\\.`));
  const second = await run(['demo', '--once'], env);
  expect(second).toMatchObject({ code: 1, stdout: '' });
  expect(second.stderr).toContain(`port ${env.PORT} is in use`);
  demo.kill('SIGTERM');
  expect((await demo.ended).code).toBe(0);
  expect(readdirSync(folder.path)).toEqual([]);
});
