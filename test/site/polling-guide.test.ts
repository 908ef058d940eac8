import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { aPost } from '../support/app.ts';
import { codeBlocks } from '../support/code-blocks.ts';
import { type RunningSite, serveStarterSite } from '../support/starter-site.ts';

let site: RunningSite;
beforeAll(async () => {
  site = await serveStarterSite();
});
afterAll(() => site.app.close());

const blocks = codeBlocks('developers/polling.md');
const env = () => ({ PATH: process.env.PATH, BASE: site.url, API_KEY: site.apiKey });

async function post(id: string): Promise<string> {
  const payload = aPost({ platform: { name: 'hn' }, external_id: id, text: `${aPost().text} ${id}` });
  const url = '/v1/signals';
  const answer = await site.app.inject({ method: 'POST', url, headers: site.auth, payload });
  expect(answer.statusCode).toBe(201);
  return answer.json().data.signals[0].signal_id;
}

/** A program whose output is read as it arrives. */
function run(command: string, args: string[], cwd: string) {
  const child = spawn(command, args, { cwd, env: env(), stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  return {
    output: () => out,
    ended,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Advances the site's clock until `isSo`; it stands still otherwise, and so would the site's waits. */
async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 2_000 && !isSo(); tries++) {
    site.clock.advance(30);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  expect(isSo()).toBe(true);
}

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-polling-guide-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('the calls in the guide read the first page, and wait for new signals', async () => {
  const [first = '', waiting = ''] = blocks.flatMap(({ language, code }) =>
    language === 'sh' ? [code] : [],
  );
  const before = await post('curl-1');
  const page = run('sh', ['-ec', first], aFolder());
  await page.ended;
  expect(JSON.parse(page.output())).toMatchObject({
    data: [{ signal_id: before }],
    pagination: { next_cursor: expect.any(String), has_more: false },
  });
  const held = run('sh', ['-ec', waiting], aFolder());
  await until(() => site.logLines.filter((line) => line.includes('"route":"/v1/signals"')).length >= 3);
  const after = await post('curl-2');
  await held.ended;
  expect(JSON.parse(held.output()).data).toMatchObject([{ signal_id: after }]);
});

test('its poller prints each new signal, and continues where it was stopped', async () => {
  const poller = blocks.find(({ name }) => name === 'poll.mjs');
  const folder = aFolder();
  const lines = (poller?.code ?? '').trim().split('\n').length;
  expect(lines).toBeLessThan(30);
  const file = join(folder, 'poll.mjs');
  writeFileSync(file, poller?.code.replace('wait=20', 'wait=1') ?? '');
  const earlier = await post('js-0');
  const first = run(process.execPath, [file], folder);
  await until(() => existsSync(join(folder, 'cursor.txt')));
  const one = await post('js-1');
  await until(() => first.output().includes(one));
  await first.kill();
  const two = await post('js-2');
  const second = run(process.execPath, [file], folder);
  await until(() => second.output().includes(two));
  await second.kill();
  const printed = first.output() + second.output();
  expect(printed).not.toContain(earlier);
  expect(printed.split(two)).toHaveLength(2);
}, 60_000);
