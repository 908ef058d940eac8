import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run, start, startScript, temporaryFolder } from './process.ts';

test('lists all configuration errors at once, opens nothing, and exits with 78', async () => {
  using folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const ended = await run([], { DATA_DIR: dataDir, PORT: 'abc', LOG_LEVEL: 'loud', TRUST_PROXY: 'x' });
  expect(ended).toMatchObject({ code: 78, stdout: '' });
  for (const name of ['PORT:', 'LOG_LEVEL:', 'TRUST_PROXY:']) expect(ended.stderr).toContain(name);
  expect(existsSync(dataDir)).toBe(false);
});

test('exits with 64 and explains why when a command is misused', async () => {
  const misuses = [
    ['nonsense'],
    ['serve', 'extra'],
    ['tenant'],
    ['tenant', 'create', '--name', 'A'],
    ['tenant', 'create', '--name', 'A', '--email', 'no-address'],
    ['tenant', 'create', '--name', 'A', '--email', 'a@example.com', '--plan', 'gold'],
    ['key', 'create', '--tenant', 'ten_x', '--name', 'A', '--scopes', 'everything'],
    ['listen', '--port', '70000'],
    ['health', '--base-url', 'not an address'],
  ];
  const ends = await Promise.all(misuses.map((args) => run(args)));
  for (const ended of ends) {
    expect(ended).toMatchObject({ code: 64, stdout: '' });
    expect(ended.stderr).not.toBe('');
    expect(ended.stderr).not.toContain('    at ');
  }
});

test('prints help on request and exits with 0', async () => {
  const { code, stdout } = await run(['--help']);
  expect(code).toBe(0);
  for (const name of ['serve', 'tenant', 'key', 'health', 'listen', 'demo']) expect(stdout).toContain(name);
});

test('names the port that is in use and a way to fix it, without a stack trace', async () => {
  using folder = temporaryFolder();
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const { code, stderr } = await run(['serve'], { DATA_DIR: folder.path, PORT: String(port) });
  taken.close();
  expect(code).toBe(1);
  expect(stderr).toBe(
    `port ${port} is in use. Stop the process that uses it, or set PORT to a free port (0: any).\n`,
  );
});

test('names the data folder that cannot be used, without a stack trace', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'a-file');
  writeFileSync(file, '');
  const { code, stdout, stderr } = await run(['serve'], { DATA_DIR: join(file, 'below'), PORT: '0' });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(join(file, 'below'));
  expect(stderr).toContain('DATA_DIR');
  expect(stderr).not.toContain('    at ');
});

test('refuses a file that is not a database with a single message', async () => {
  using folder = temporaryFolder();
  writeFileSync(
    join(folder.path, 'signalpost.db'),
    'this is not a database, whatever its name says'.repeat(100),
  );
  const { code, stderr } = await run(['tenant', 'list'], { DATA_DIR: folder.path });
  expect(code).toBe(1);
  expect(stderr).toContain('signalpost.db');
  expect(stderr).not.toContain('    at ');
});

test.for(['SIGTERM', 'SIGINT'] as const)('drains and exits with 0 on %s', async (signal) => {
  using folder = temporaryFolder();
  await using server = start(['serve'], { DATA_DIR: folder.path, PORT: '0' });
  await server.said(/listens at http/);
  server.kill(signal);
  // npm forwards a terminal's Ctrl-C a second time.
  if (signal === 'SIGINT') server.kill(signal);
  expect((await server.ended).code).toBe(0);
});

test('SIGTERM to npm reaches the server, which exits with it', async () => {
  using folder = temporaryFolder();
  await using npm = startScript('start', { DATA_DIR: folder.path, PORT: '0' });
  const [, url = ''] = await npm.said(/listens at (http\S+)/);
  npm.kill('SIGTERM');
  expect((await npm.ended).code).toBe(0);
  await expect(fetch(url)).rejects.toThrow();
});

test('explains how to create a tenant on the first start, and not later', async () => {
  using folder = temporaryFolder();
  const env = { DATA_DIR: folder.path, PORT: '0' };
  {
    await using first = start([], env);
    const [, command] = await first.said(/^ {2}(.+tenant create.+)$/m);
    expect(command).toContain(`DATA_DIR=${folder.path} `);
    expect(command).toContain('npm run --silent signalpost -- tenant create --name');
    first.kill('SIGTERM');
    const { stdout } = await first.ended;
    expect(stdout).toMatch(/^Dashboard: http:\/\/.+\/dashboard$/m);
    expect(stdout).toMatch(/^ {2}http:\/\/.+\/dashboard\/setup#token=[\w-]{20,}$/m);
  }
  await run(['tenant', 'create', '--name', 'Acme', '--email', 'a@example.com'], env);
  await using second = start([], env);
  await second.said(/listens at http/);
  second.kill('SIGTERM');
  expect((await second.ended).stdout).not.toContain('tenant create');
});

test('migrates an empty folder and logs from which version to which', async () => {
  using folder = temporaryFolder();
  const env = { DATA_DIR: folder.path };
  expect((await run(['migrate'], env)).stdout).toMatch(
    /signalpost\.db was updated from schema version 0 to \d+\.\n/,
  );
  expect((await run(['migrate'], env)).stdout).toMatch(/signalpost\.db is at schema version \d+\.\n/);
});
