import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemRandom } from '../../src/lib/random.ts';
import { createSecretBox } from '../../src/lib/secret-box.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { anEndpoint, aTenant, openTestStore } from '../support/store.ts';
import { run, start, temporaryFolder } from './process.ts';

// Each test runs several processes in sequence.
vi.setConfig({ testTimeout: 90_000 });

const OTHER_KEY = Buffer.alloc(32, 7).toString('base64');
const COMMANDS = [
  ['serve'],
  ['migrate'],
  ['tenant', 'list'],
  ['tenant', 'create', '--name', 'Acme', '--email', 'a@example.com'],
  ['key', 'list', '--tenant', 'ten_a'],
];

/** A folder whose database knows its key and contains a tenant. */
async function aFolder() {
  const folder = temporaryFolder();
  onTestFinished(() => folder[Symbol.dispose]());
  const env = { DATA_DIR: folder.path, PORT: '0' };
  expect((await run(['tenant', 'create', '--name', 'First', '--email', 'f@example.com'], env)).code).toBe(0);
  return { path: folder.path, env };
}

/** A hash of every file in the folder, by name. */
const contents = (folder: string) =>
  Object.fromEntries(
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex'),
      ]),
  );

test.for(COMMANDS.map((command) => ({ command, name: command.join(' ') })))(
  '"$name" exits with 78 for another key, and changes nothing',
  async ({ command }) => {
    const { path, env } = await aFolder();
    const before = contents(path);
    const { code, stdout, stderr } = await run(command, { ...env, SECRETS_KEY: OTHER_KEY });
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
    expect(stderr).toContain('belongs to another master key than the one in SECRETS_KEY');
    expect(stderr).toContain('Put back the key that belongs to it');
    expect(stderr).not.toContain(OTHER_KEY);
    expect(contents(path)).toEqual(before);
  },
);

test('the write-ahead log left by a killed server is not applied under another key', async () => {
  const { path, env } = await aFolder();
  {
    await using server = start(['serve'], env);
    await server.said(/listens at http/);
    await run(['tenant', 'create', '--name', 'Second', '--email', 's@example.com'], env);
    server.kill('SIGKILL');
    await server.ended;
  }
  const { 'signalpost.db-shm': _, ...before } = contents(path);
  expect(Object.keys(before)).toContain('signalpost.db-wal');
  expect((await run(['tenant', 'list'], { ...env, SECRETS_KEY: OTHER_KEY })).code).toBe(78);
  expect(contents(path)).toMatchObject(before);
  expect((await run(['tenant', 'list'], env)).stdout).toContain('Second');
});

test('the correct key, from any source, opens the database after another key was refused', async () => {
  const { path, env } = await aFolder();
  expect((await run(['tenant', 'list'], { ...env, SECRETS_KEY: OTHER_KEY })).code).toBe(78);
  expect((await run(['tenant', 'list'], env)).stdout).toContain('First');
  const key = readFileSync(join(path, 'secrets.key'), 'utf8').trim();
  rmSync(join(path, 'secrets.key'));
  expect((await run(['tenant', 'list'], { ...env, SECRETS_KEY: key })).stdout).toContain('First');
});

test('a missing key is reported, and no new one is created in its place', async () => {
  const { path, env } = await aFolder();
  renameSync(join(path, 'secrets.key'), join(path, 'put-away'));
  const before = contents(path);
  const { code, stderr } = await run(['serve'], env);
  expect(code).toBe(78);
  expect(stderr).toContain('the master key that they were encrypted with is missing');
  expect(contents(path)).toEqual(before);
  renameSync(join(path, 'put-away'), join(path, 'secrets.key'));
  expect((await run(['tenant', 'list'], env)).code).toBe(0);
});

test('a key file without a key is a configuration error', async () => {
  const { path, env } = await aFolder();
  rmSync(join(path, 'secrets.key'));
  writeFileSync(join(path, 'secrets.key'), 'half a ke');
  const { code, stderr } = await run(['tenant', 'list'], env);
  expect(code).toBe(78);
  expect(stderr).toContain('does not hold 32 bytes in base64');
});

/** A database of an earlier release without a check value; its endpoint's secret is sealed under `key`. */
async function anOldDatabase(key: Buffer) {
  const folder = temporaryFolder();
  onTestFinished(() => folder[Symbol.dispose]());
  const file = join(folder.path, 'signalpost.db');
  const { store } = await openTestStore({ clock: createManualClock(), file });
  await store.createTenant(aTenant('ten_a'));
  const secretBox = createSecretBox(key, systemRandom).seal('whsec_x', 'whk_a');
  await store.createEndpoint({ ...anEndpoint('ten_a'), id: 'whk_a', secretBox }, null);
  await store.close();
  return { DATA_DIR: folder.path };
}

test('a database of an earlier release is checked against its secrets, and knows its key from then on', async () => {
  const key = Buffer.alloc(32, 1);
  const env = await anOldDatabase(key);
  expect((await run(['tenant', 'list'], { ...env, SECRETS_KEY: OTHER_KEY })).code).toBe(78);
  expect((await run(['tenant', 'list'], env)).code).toBe(78);
  const own = { ...env, SECRETS_KEY: key.toString('base64') };
  expect((await run(['migrate'], own)).code).toBe(0);
  expect((await run(['tenant', 'list'], own)).code).toBe(0);
  expect((await run(['tenant', 'list'], { ...env, SECRETS_KEY: OTHER_KEY })).code).toBe(78);
});
