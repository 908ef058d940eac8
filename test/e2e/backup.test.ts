import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { call, postSignals, startCountingReceiver } from '../support/counting-receiver.ts';
import { freePort, runCommand, serverEnv, startServerProcess } from '../support/server-process.ts';

const BEFORE = 60;
const BATCH = 20;

const urlsOf = (part: string, count: number) =>
  Array.from({ length: count }, (_, i) => `https://forum.example/${part}/${i}`);

test('a backup made under load and restored to a fresh folder delivers everything not delivered before', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-backup-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [old, fresh, backup] = [join(folder, 'old'), join(folder, 'fresh'), join(folder, 'backup.db')];
  const port = await freePort();
  // Nothing is answered until the restore, so that nothing is delivered.
  let answers = false;
  const held: ServerResponse[] = [];
  const receiver = await startCountingReceiver((response) => {
    if (answers) response.end();
    else held.push(response);
  });
  const env = serverEnv(old, port);
  const named = ['--name', 'Backup', '--email', 'b@example.com', '--plan', 'enterprise'];
  const { api_key: key } = JSON.parse(await runCommand(['tenant', 'create', ...named, '--json'], env));

  const first = await startServerProcess(old, port);
  const target = { url: `${receiver.url}/0`, rate_limit_per_minute: 1_000_000 };
  receiver.secrets.set('/0', (await call(first.url, key, '/v1/webhooks', target)).data.secret);
  await postSignals(first.url, key, urlsOf('before', BEFORE));

  let backedUp = false;
  const backingUp = runCommand(['backup', backup, '--with-key'], env).finally(() => {
    backedUp = true;
  });
  let meanwhile = 0;
  do {
    await postSignals(first.url, key, urlsOf(`during-${meanwhile}`, BATCH));
    meanwhile++;
  } while (!backedUp);
  expect(await backingUp).toContain('checked');
  await first.kill();
  for (const response of held) response.destroy();
  receiver.counts.clear();
  answers = true;

  const freshEnv = serverEnv(fresh, port);
  expect(await runCommand(['restore', backup], freshEnv)).toContain(
    'The master key was restored from the backup',
  );
  expect(await runCommand(['check'], freshEnv)).toContain('is sound');
  const second = await startServerProcess(fresh, port);
  const expected = urlsOf('before', BEFORE).map((url) => `/0 ${url}`);
  await receiver.until(() => expected.every((item) => receiver.counts.has(item)));
  expect(await second.terminate()).toBe(0);
  expect(receiver.unexpected).toEqual([]);
}, 180_000);
