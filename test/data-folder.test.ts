import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { closeDataFolder } from '../src/data-folder.ts';
import { run, start, temporaryFolder } from './cli/process.ts';

// A server's first start highlights the portal's code, which takes long on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

/** A data folder as created by earlier releases under a common umask. */
function anOpenFolder() {
  const folder = temporaryFolder();
  onTestFinished(() => folder[Symbol.dispose]());
  const path = join(folder.path, 'data');
  mkdirSync(path);
  const names = ['signalpost.db', 'signalpost.db-wal', 'signalpost.db-shm', 'secrets.key', 'a-note.txt'];
  for (const name of names) writeFileSync(join(path, name), '');
  mkdirSync(join(path, 'cache'));
  writeFileSync(join(path, 'cache', 'code.json'), '{}');
  for (const name of ['', 'cache']) chmodSync(join(path, name), 0o755);
  for (const name of [...names, 'cache/code.json']) chmodSync(join(path, name), 0o644);
  return path;
}

test('a folder accessible to others is restricted, including our files in it', () => {
  const path = anOpenFolder();
  expect(closeDataFolder(path)).toEqual([]);
  const modes = ['', 'signalpost.db', 'signalpost.db-wal', 'signalpost.db-shm', 'secrets.key', 'cache'].map(
    (name) => modeOf(join(path, name)),
  );
  expect(modes).toEqual(['700', '600', '600', '600', '600', '700']);
  expect(modeOf(join(path, 'cache', 'code.json'))).toBe('600');
  expect(modeOf(join(path, 'a-note.txt'))).toBe('644');
});

test('files of another user are reported with a way to fix them, and the rest is restricted anyway', () => {
  const path = anOpenFolder();
  const refused = closeDataFolder(path, (file, mode) => {
    if (file === path) throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
    chmodSync(file, mode);
  });
  expect(refused).toEqual([
    expect.stringContaining(
      `${path} has mode 0755 instead of 0700, and this user is not allowed to change it (EPERM).`,
    ),
  ]);
  expect(refused[0]).toContain(`chmod 0700 ${path}`);
  expect(modeOf(join(path, 'secrets.key'))).toBe('600');
});

test.runIf(process.platform === 'linux')(
  'if the folder cannot be created, a command reports it and exits',
  async () => {
    const { code, stderr } = await run(['migrate'], { DATA_DIR: '/proc/no/such/data' });
    expect(stderr).toContain('The data folder /proc/no/such/data cannot be used (ENOENT). Make it writable');
    expect(code).toBe(1);
  },
);

test('a key that cannot be read is named, not the folder', async () => {
  using folder = temporaryFolder();
  mkdirSync(join(folder.path, 'secrets.key'));
  const { code, stderr } = await run(['migrate'], { DATA_DIR: folder.path });
  expect(stderr).toContain(`${join(folder.path, 'secrets.key')} cannot be read (EISDIR). Make it readable`);
  expect(code).toBe(78);
});

/** Runs `work` under a umask that removes no permissions, which child processes inherit. */
async function withoutUmask<T>(work: () => Promise<T>): Promise<T> {
  const before = process.umask(0);
  try {
    return await work();
  } finally {
    process.umask(before);
  }
}

test('a running server keeps folder, database, log and key private, whatever the umask', async () => {
  const folder = temporaryFolder();
  onTestFinished(() => folder[Symbol.dispose]());
  const path = join(folder.path, 'new');
  await withoutUmask(async () => {
    await using server = start(['serve'], { DATA_DIR: path, PORT: '0' });
    await server.said(/listens at http/);
    const names = [
      'signalpost.db',
      'signalpost.db-wal',
      'signalpost.db-shm',
      'secrets.key',
      'cache/code.json',
    ];
    const modes = Object.fromEntries(names.map((name) => [name, modeOf(join(path, name))]));
    expect(modes).toEqual(Object.fromEntries(names.map((name) => [name, '600'])));
    expect([path, join(path, 'cache')].map(modeOf)).toEqual(['700', '700']);
  });
});

test('a server restricts its existing folder when it starts', async () => {
  const folder = temporaryFolder();
  onTestFinished(() => folder[Symbol.dispose]());
  const env = { DATA_DIR: folder.path };
  await run(['migrate'], env);
  chmodSync(folder.path, 0o755);
  for (const name of ['signalpost.db', 'secrets.key']) chmodSync(join(folder.path, name), 0o644);
  expect((await run(['tenant', 'list'], env)).code).toBe(0);
  expect(['', 'signalpost.db', 'secrets.key'].map((name) => modeOf(join(folder.path, name)))).toEqual([
    '700',
    '600',
    '600',
  ]);
});
