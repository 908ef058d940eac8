import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemRandom } from '../../src/lib/random.ts';
import { deliveryHeaders, toBodyBytes } from '../../src/model/delivery.ts';
import { createSigner, generateSecret } from '../../src/webhooks/signature.ts';
import { codeBlocks } from '../support/code-blocks.ts';
import { freePort } from '../support/server-process.ts';
import { serveStarterSite } from '../support/starter-site.ts';

const CLIENT = resolve(import.meta.dirname, '../../src/client/client.ts');
const blocks = codeBlocks('developers/client.md');
const secret = generateSecret(systemRandom);

/** A folder where packages of this repository are found. */
function aFolder(): string {
  const parent = resolve(import.meta.dirname, '../../node_modules/.cache/signalpost-samples');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'run-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function write(folder: string, name: string): void {
  const block = [...blocks, ...codeBlocks('developers/webhooks.md')].find((each) => each.name === name);
  if (block === undefined) throw new Error(`no guide has ${name}`);
  writeFileSync(join(folder, name), block.code.replace("'signalpost/client'", JSON.stringify(CLIENT)));
}

function start(command: string, args: string[], folder: string, env: Record<string, string>) {
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  return {
    out: () => out,
    err: () => err,
    ended: new Promise<void>((done) => child.once('close', () => done())),
  };
}

test('the calls of the guide run against a server', async () => {
  const site = await serveStarterSite();
  onTestFinished(() => site.app.close());
  const folder = aFolder();
  write(folder, 'client.mjs');
  const run = start(process.execPath, ['client.mjs'], folder, { BASE: site.url, API_KEY: site.apiKey });
  await run.ended;
  const [created, ...others] = run.out().trim().split('\n');
  expect(created, run.err()).toMatch(/^created \d+$/);
  expect(others.at(-1)).toBe('NOT_FOUND');
  expect(others.length).toBeGreaterThan(1);
}, 60_000);

const packages = resolve(import.meta.dirname, '../../node_modules');
const hasFlask = spawnSync('python3', ['-c', 'import flask']).status === 0;
const RECEIVERS = [
  { file: 'fastify.mjs', isAtHand: true },
  { file: 'express.mjs', isAtHand: existsSync(join(packages, 'express')) },
  {
    file: 'hono.mjs',
    isAtHand: ['hono', '@hono/node-server'].every((name) => existsSync(join(packages, name))),
  },
  { file: 'app.py', isAtHand: hasFlask },
];

test.each(RECEIVERS.filter(({ isAtHand }) => isAtHand))(
  'the receiver $file takes what is genuine, once, and nothing else',
  async ({ file }) => {
    const folder = aFolder();
    const isPython = file.endsWith('.py');
    write(folder, file);
    if (isPython) write(folder, 'verify.py');
    const port = await freePort();
    const command = isPython ? 'python3' : process.execPath;
    const run = start(command, [file], folder, { PORT: String(port), WEBHOOK_SECRET: secret });
    const post = (id: string, body: string, signed = body) => {
      const startedAt = Date.now();
      const sealed = createSigner(secret).seal({ id, ...toBodyBytes(signed) }, Math.floor(startedAt / 1_000));
      const key = { deliveryId: id, attempt: 1, startedAt };
      return fetch(`http://127.0.0.1:${port}/hook`, {
        method: 'POST',
        headers: deliveryHeaders(key, { ...sealed, eventType: 'signal.detected' }),
        body: signed === body ? new Uint8Array(sealed.body) : body,
      }).then(({ status }) => status);
    };
    const listens = async () => (await fetch(`http://127.0.0.1:${port}/`).catch(() => null)) !== null;
    for (let tries = 0; tries < 400 && !(await listens()); tries++) {
      await new Promise((done) => setTimeout(done, 50));
    }
    expect(await post('dlv_1', '{"signal_id":"sig_1","excerpt":"Grüße 😀"}'), run.err()).toBe(204);
    expect(await post('dlv_1', '{"signal_id":"sig_1","excerpt":"Grüße 😀"}')).toBe(204);
    expect(await post('dlv_2', '{"forged":true}', '{"forged":false}')).toBe(401);
    expect(await post('dlv_3', '{"signal_id":"sig_3"}')).toBe(204);
    for (let tries = 0; tries < 200 && !run.out().includes('dlv_3'); tries++) {
      await new Promise((done) => setTimeout(done, 25));
    }
    const handled = run
      .out()
      .split('\n')
      .filter((line) => line.startsWith('signal.detected'));
    expect(handled).toEqual(['signal.detected dlv_1', 'signal.detected dlv_3']);
  },
  60_000,
);

test('the guide has a receiver for every framework that it names', () => {
  expect(blocks.map(({ name }) => name).filter((name) => name !== '')).toEqual([
    ...['client.mjs', 'express.mjs', 'fastify.mjs', 'hono.mjs', 'app.py', 'hooks_controller.rb', 'hook.php'],
  ]);
});
