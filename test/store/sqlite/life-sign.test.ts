import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createLifeSign } from '../../../src/store/sqlite/life-sign.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { startScriptText } from '../../cli/process.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { aKey, aTenant, T0 } from '../../support/store.ts';
import { tempFolder } from './temp-folder.ts';

const REQUEST = { tenantId: 'ten_a', route: 'POST /v1/keys', key: 'k1', fingerprint: 'f1' };
const terms = (token: string) => ({ token, now: T0, expiresAt: T0 + 1_000 });

test('a sign is seen while it is given, and leaves nothing behind', () => {
  const file = join(tempFolder(), 'signalpost.db');
  const ours = createLifeSign(file);
  const others = createLifeSign(file);
  expect(others.isAlive(ours.name)).toBe(true);
  expect([ours.countOthers(), others.countOthers()]).toEqual([1, 1]);
  expect(statSync(`${file}-alive-${ours.name}`).mode & 0o777).toBe(0o600);
  ours.end();
  expect(others.isAlive(ours.name)).toBe(false);
  expect(others.isAlive('nobody')).toBe(false);
  expect(others.countOthers()).toBe(0);
  others.end();
  expect(readdirSync(join(file, '..'))).toEqual([]);
});

test('a killed process gives no sign any more, and the next one takes its sign away', async () => {
  const folder = tempFolder();
  const script = `
    const { createLifeSign } = await import(${JSON.stringify(join(process.cwd(), 'src/store/sqlite/life-sign.ts'))});
    const sign = createLifeSign(${JSON.stringify(join(folder, 'signalpost.db'))});
    console.log('sign ' + sign.name);
    setInterval(() => sign.name, 1000); // one that nobody holds is given up by the garbage collector`;
  await using other = startScriptText(script);
  const [, name = ''] = await other.said(/sign (\w+)/);
  const first = createLifeSign(join(folder, 'signalpost.db'));
  expect(first.isAlive(name)).toBe(true);
  other.kill('SIGKILL');
  await other.ended;
  expect(first.isAlive(name)).toBe(false);
  const second = createLifeSign(join(folder, 'signalpost.db'));
  expect(readdirSync(folder).some((found) => found.includes(name))).toBe(false);
  first.end();
  second.end();
});

/** Two stores on one file, as two servers have it. */
async function twoStores() {
  const file = join(tempFolder(), 'signalpost.db');
  const open = () => openSqliteStore({ file, clock: createManualClock(T0) });
  const [first, second] = [await open(), await open()];
  onTestFinished(() => second.close());
  await first.createTenant(aTenant('ten_a'));
  return { first, second };
}

test('a request that runs in another process is running; when that has ended it is run again, at once', async () => {
  const { first, second } = await twoStores();
  const reserved = await first.reserveKey(REQUEST, terms('t1'));
  if (reserved.state !== 'held') throw new Error(reserved.state);
  await first.keeping(reserved.held).createKey(aKey('ten_a', { id: 'key_1' }), 100);
  expect(await second.reserveKey(REQUEST, terms('t2'))).toEqual({ state: 'running' });
  await first.close();
  expect(await second.reserveKey(REQUEST, terms('t3'))).toMatchObject({
    state: 'held',
    held: { token: 't3', seed: 't1', steps: [{ name: 'createKey', result: true }] },
  });
});
